import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { exitCodeOf, outcomeText } from '../outcome.js';
import { withClient } from '../pipeline-client.js';
import { watchRun } from '../watch-run.js';

export function addWatch(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('watch')
    .description('Shows a run until it ends: stages, steps, rewards, speed, retries. Ctrl-C leaves the run going.')
    .argument('<run>', 'workflow id of the run')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent watch laptop-1a2b3c4d', 'memagent watch my-run --json | tail -1');
  runs(command, context, async (id: string, options: { json?: boolean }) =>
    withClient(terminal, async (connected) => {
      const last = await watchRun(terminal, connected, id, {
        json: options.json === true,
        signal: terminal.handleInterrupts(),
      });
      if (last === undefined || last.status === 'RUNNING')
        terminal.err(`${id} goes on; look again with: memagent watch ${id}`);
      else if (options.json !== true) terminal.out(outcomeText(last));
      return exitCodeOf(last);
    })
  );
}
