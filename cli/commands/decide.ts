import { Option } from 'commander';
import { DECIDE_UPDATE, type Decision } from '../../shared/contracts/progress.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { withClient } from '../pipeline-client.js';
import { cleanLine } from '../terminal/clean-text.js';

interface DecideOptions {
  action: Decision['action'];
  note?: string;
  json?: boolean;
}

export function addDecide(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('decide')
    .description('Answers a halted run: try the failed stage again, or end the run with its failure.')
    .argument('<run>', 'workflow id of the run')
    .addOption(new Option('--action <action>', 'what to do').choices(['retry', 'abort']).makeOptionMandatory())
    .option('--note <text>', 'why, for the run’s record')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent decide my-run --action retry --note "freed the disk"');
  runs(command, context, async (id: string, options: DecideOptions) =>
    withClient(terminal, async ({ client }) => {
      const decision: Decision = {
        action: options.action,
        ...(options.note === undefined ? {} : { note: options.note }),
      };
      const handle = client.workflow.getHandle(id);
      const answer = await handle.executeUpdate<string, [Decision]>(DECIDE_UPDATE, { args: [decision] });
      terminal.out(options.json === true ? JSON.stringify({ id, ...decision, answer }) : cleanLine(answer));
      return EXIT.ok;
    })
  );
}
