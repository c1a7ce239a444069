import { EXIT } from '../../shared/contracts/user-error.js';
import type { VerifyCheck } from '../../shared/artifacts/verify.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { runDirectory } from '../run-directory.js';
import { cleanLine } from '../terminal/clean-text.js';
import { plural } from '../terminal/units.js';

/** Problems shown of one check; `--json` has all that were kept. */
const SHOWN_PROBLEMS = 10;

export function addVerify(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('verify')
    .description(
      'Checks a run’s files off-line: every hash, and everything that follows from other files computed again.'
    )
    .argument('<run>', 'run directory, or id of a run in ./runs')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent verify laptop-1a2b3c4d', 'memagent verify /data/runs/my-run --json');
  runs(command, context, async (run: string, options: { json?: boolean }) => {
    const { verifyRun } = await import('../../shared/artifacts/verify.js');
    const print = (check: VerifyCheck): void => terminal.out(checkLines(check));
    const report = await verifyRun(runDirectory(run), options.json === true ? undefined : print);
    if (options.json === true) terminal.out(JSON.stringify(report));
    else {
      for (const sentence of report.notDerived) terminal.out(`· by hash only ${sentence}`);
      terminal.out(`${report.directory}: ${report.passed ? 'everything is as it says' : 'NOT as it says'}`);
    }
    return report.passed ? EXIT.ok : EXIT.failed;
  });
}

function checkLines({ name, what, checked, problems, problemCount, notes = [] }: VerifyCheck): string {
  const head = `${problemCount === 0 ? '✔' : '✖'} ${name.padEnd(12)} ${what}: ${checked} checked, ${plural(problemCount, 'problem')}`;
  const shown = problems.slice(0, SHOWN_PROBLEMS).map((problem) => `    ${cleanLine(problem, 500)}`);
  const more = problemCount - shown.length;
  const unseen = notes.map((note) => `    · ${cleanLine(note, 500)}`);
  return [head, ...shown, ...(more > 0 ? [`    … and ${more} more`] : []), ...unseen].join('\n');
}
