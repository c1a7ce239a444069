import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { exitCodeOf, outcomeText } from '../outcome.js';
import { takeSnapshot, withClient, type Snapshot } from '../pipeline-client.js';
import { screen } from '../progress/screen.js';
import { queueHealth, type QueueHealth } from '../queue-health.js';
import { readCost, type CostSummary } from '../../shared/cost/summarize-cost.js';
import { duration } from '../terminal/units.js';
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
      const cost = await costOf(snapshot);
      const queues = running ? await queueHealth(connected, id, snapshot.progress) : [];
      if (options.json === true) {
        terminal.out(JSON.stringify({ ...snapshot, queues, ...(cost === undefined ? {} : { cost }) }));
      } else {
        const colors = terminal.isTTY && terminal.env['NO_COLOR'] === undefined;
        terminal.out(screen(snapshot, { columns: terminal.columns, colors }));
        queues.filter((queue) => queue.pollers === 0).forEach((queue) => terminal.out(unserved(queue)));
        if (cost !== undefined) terminal.out(costLine(cost));
        const outcome = outcomeText(snapshot);
        if (outcome !== '') terminal.out(outcome);
      }
      return running ? EXIT.ok : exitCodeOf(snapshot);
    })
  );
}

/** What the run took so far, where its folder is on this machine. */
async function costOf({ progress }: Snapshot): Promise<CostSummary | undefined> {
  return progress?.runDirectory === undefined ? undefined : await readCost(progress.runDirectory);
}

function costLine({ total, wastedShare }: CostSummary): string {
  const cpu = `${duration(total.workerCpuSeconds + total.engineCpuSeconds)} of CPU time`;
  const gpu = total.gpuSeconds > 0 ? `${duration(total.gpuSeconds)} of GPU time, ` : '';
  return `cost:    ${gpu}${cpu}, ${(100 * wastedShare).toFixed(1)} % wasted`;
}

function unserved({ queue, command }: QueueHealth): string {
  return `no worker polls ${queue}: start one with \`${command}\` (or \`memagent dev\` for everything local)`;
}
