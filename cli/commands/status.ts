import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { exitCodeOf, outcomeText } from '../outcome.js';
import { takeSnapshot, withClient } from '../pipeline-client.js';
import { screen } from '../progress/screen.js';
import { queueHealth, type QueueHealth } from '../queue-health.js';
import { EXIT } from '../../shared/contracts/user-error.js';

export function addStatus(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('status')
    .description('Shows where a run is, once; names task queues of its running stages that no worker serves.')
    .argument('<run>', 'workflow id of the run')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent status my-run', 'memagent status my-run --json');
  runs(command, context, async (id: string, options: { json?: boolean }) =>
    withClient(terminal, async (connected) => {
      const snapshot = await takeSnapshot(connected, id);
      const running = snapshot.status === 'RUNNING';
      const queues = running ? await queueHealth(connected, id, snapshot.progress) : [];
      if (options.json === true) {
        terminal.out(JSON.stringify({ ...snapshot, queues }));
      } else {
        const colors = terminal.isTTY && terminal.env['NO_COLOR'] === undefined;
        terminal.out(screen(snapshot, { columns: terminal.columns, colors }));
        queues.filter((queue) => queue.pollers === 0).forEach((queue) => terminal.out(unserved(queue)));
        const outcome = outcomeText(snapshot);
        if (outcome !== '') terminal.out(outcome);
      }
      return running ? EXIT.ok : exitCodeOf(snapshot);
    })
  );
}

function unserved({ queue, command }: QueueHealth): string {
  return `no worker polls ${queue}: start one with \`${command}\` (or \`memagent dev\` for everything local)`;
}
