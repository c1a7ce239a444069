import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { EXIT } from '../shared/contracts/user-error.js';
import { packageRoot } from '../shared/runtime/entry.js';
import { withExamples, type CommandContext } from './command.js';
import { addCancel } from './commands/cancel.js';
import { addCompare } from './commands/compare.js';
import { addCompareRuns } from './commands/compare-runs.js';
import { addConformance } from './commands/conformance.js';
import { addData } from './commands/data.js';
import { addDecide } from './commands/decide.js';
import { addDemo } from './commands/demo.js';
import { addDev } from './commands/dev.js';
import { addDoctor } from './commands/doctor.js';
import { addEval } from './commands/eval.js';
import { addExplain } from './commands/explain.js';
import { addLaunch } from './commands/launch.js';
import { addRecipe } from './commands/recipe.js';
import { addReplay } from './commands/replay.js';
import { addReport } from './commands/report.js';
import { addStart } from './commands/start.js';
import { addStatus } from './commands/status.js';
import { addVerify } from './commands/verify.js';
import { addWatch } from './commands/watch.js';
import { addWorker } from './commands/worker.js';
import { describeError } from './describe-error.js';
import type { Terminal } from './terminal.js';

const EXIT_CODES = `
Exit codes: 0 done or passed, 1 failed or not passed, 2 wrong use or not comparable, 130 interrupted.
Temporal:   TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the other TEMPORAL_* variables, and the Temporal CLI’s configuration file.`;

function version(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  return version;
}

function buildProgram(context: CommandContext): void {
  const { program, terminal } = context;
  program
    .name('memagent')
    .description('Trains and evaluates recurrent-memory LLM agents as durable Temporal workflows.')
    .version(version())
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
    })
    .showHelpAfterError('(add --help for usage)')
    .exitOverride();
  withExamples(program, 'memagent demo', 'memagent start recipes/laptop.json --watch');
  program.addHelpText('after', EXIT_CODES);
  const add = [addDemo, addDev, addWorker, addStart, addWatch, addStatus, addDecide, addCancel, addReport, addRecipe];
  const judging = [addData, addEval, addCompare, addCompareRuns, addVerify, addExplain];
  for (const addCommand of [...add, ...judging, addLaunch, addConformance, addReplay, addDoctor]) addCommand(context);
}

/** Commander's exit code 1 is wrong use, which is 2 here. */
function usageCode(error: CommanderError): number {
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

/**
 * Runs one command line.
 *
 * @param args - arguments after the program's name
 * @returns the exit code; never throws
 */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const context: CommandContext = { program: new Command(), terminal, args, exit: { code: EXIT.ok } };
  try {
    buildProgram(context);
    await context.program.parseAsync([...args], { from: 'user' });
    return context.exit.code;
  } catch (error) {
    if (error instanceof CommanderError) return usageCode(error);
    const screen = describeError(error, terminal.env);
    terminal.err(screen.text);
    return screen.exitCode;
  }
}
