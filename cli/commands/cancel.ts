import { EXIT } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { takeSnapshot, withClient, type Snapshot } from '../pipeline-client.js';
import { watchRun } from '../watch-run.js';

export function addCancel(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('cancel')
    .description(
      'Cancels a run: engines are stopped, everything finished stays. The same id can be started again later.'
    )
    .argument('<run>', 'workflow id of the run')
    .option('--wait', 'return only when the run has ended')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent cancel my-run --wait');
  runs(command, context, async (id: string, options: { wait?: boolean; json?: boolean }) =>
    withClient(terminal, async (connected) => {
      const before = await takeSnapshot(connected, id);
      const running = before.status === 'RUNNING';
      if (running) await connected.client.workflow.getHandle(id).cancel();
      if (options.json !== true) terminal.out(running ? `asked ${id} to stop` : alreadyOver(before));
      const signal = terminal.handleInterrupts();
      if (options.wait === true && running) await watchRun(terminal, connected, id, { json: false, signal });
      if (options.json === true) {
        const { status } = await takeSnapshot(connected, id);
        terminal.out(JSON.stringify({ id, status }));
      }
      return signal.aborted ? EXIT.interrupted : EXIT.ok;
    })
  );
}

function alreadyOver({ id, status }: Snapshot): string {
  return `nothing to cancel: ${id} is over already (${status.toLowerCase().replaceAll('_', ' ')})`;
}
