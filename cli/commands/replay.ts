import { EXIT } from '../../shared/contracts/user-error.js';
import { entryPath } from '../../shared/runtime/entry.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { fetchHistories, isHistoryFile, readHistoryFile, type RecordedHistory } from '../histories.js';
import { withClient } from '../pipeline-client.js';
import { cleanLine } from '../terminal/clean-text.js';
import type { Terminal } from '../terminal.js';

interface ReplayResult {
  workflowId: string;
  events: number;
  /** Why this code cannot go on with the run; absent when it can. */
  problem?: string;
}

export function addReplay(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('replay')
    .description(
      'Replays recorded runs with this version’s workflow code: whether an update would break running workflows.'
    )
    .argument('<history...>', 'history files, or ids of workflows on the server')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent replay test/histories/*.json.gz', 'memagent replay my-run');
  runs(command, context, async (given: string[], options: { json?: boolean }) => {
    const results: ReplayResult[] = [];
    for (const recorded of await collect(terminal, given)) {
      const result = await replay(recorded);
      results.push(result);
      if (options.json !== true) terminal.out(line(result));
    }
    if (options.json === true) terminal.out(JSON.stringify(results));
    return results.some((result) => result.problem !== undefined) ? EXIT.failed : EXIT.ok;
  });
}

async function collect(terminal: Terminal, given: string[]): Promise<RecordedHistory[]> {
  const histories: RecordedHistory[] = [];
  for (const name of given) {
    if (isHistoryFile(name)) histories.push(await readHistoryFile(name));
    else histories.push(...(await withClient(terminal, (connected) => fetchHistories(connected, name))));
  }
  return histories;
}

async function replay({ workflowId, history }: RecordedHistory): Promise<ReplayResult> {
  const { Worker } = await import('@temporalio/worker');
  await quietRuntime();
  const events = history.events?.length ?? 0;
  try {
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: entryPath('workflow-bundle.js') } },
      history,
      workflowId
    );
    return { workflowId, events };
  } catch (error) {
    return { workflowId, events, problem: cleanLine((error as Error).message, 600) };
  }
}

let installed = false;

/** The SDK’s own log would repeat every problem with a stack trace. */
async function quietRuntime(): Promise<void> {
  if (installed) return;
  installed = true;
  const { DefaultLogger, Runtime } = await import('@temporalio/worker');
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { forward: {} } },
    });
  } catch {
    // This process has a run time already: its log is somebody else’s choice.
  }
}

function line({ workflowId, events, problem }: ReplayResult): string {
  const head = `${problem === undefined ? '✔' : '✖'} ${cleanLine(workflowId)} (${events} events)`;
  return problem === undefined ? head : `${head}\n    ${problem}`;
}
