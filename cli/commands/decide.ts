import { Option } from 'commander';
import { DECIDE_UPDATE, DECISIONS, type Decision } from '../../shared/contracts/progress.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { withClient } from '../pipeline-client.js';
import { cleanLine } from '../terminal/clean-text.js';

interface DecideOptions {
  action: Decision['action'];
  fromStage?: string;
  note?: string;
  json?: boolean;
}

export function addDecide(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('decide')
    .description(
      'Answers a halted or paused run: try again, go on after a pause, make a stage anew with all that follow, or end the run.'
    )
    .argument('<run>', 'workflow id of the run')
    .addOption(new Option('--action <action>', 'what to do').choices(DECISIONS).makeOptionMandatory())
    .option('--from-stage <stage>', 'with retry: the stage to begin again at, e.g. train:relax')
    .option('--note <text>', 'why, for the run’s record')
    .option(...JSON_OPTION);
  withExamples(
    command,
    'memagent decide my-run --action retry --note "freed the disk"',
    'memagent decide my-run --action retry --from-stage train:relax',
    'memagent decide my-run --action continue'
  );
  runs(command, context, async (id: string, options: DecideOptions) =>
    withClient(terminal, async ({ client }) => {
      const decision = decisionOf(options);
      const handle = client.workflow.getHandle(id);
      const answer = await handle.executeUpdate<string, [Decision]>(DECIDE_UPDATE, { args: [decision] });
      terminal.out(options.json === true ? JSON.stringify({ id, ...decision, answer }) : cleanLine(answer));
      return EXIT.ok;
    })
  );
}

/** `retry` with a stage is `retryFromStage`. @throws UserError for a stage that does not fit the action */
function decisionOf({ action, fromStage, note }: DecideOptions): Decision {
  const wantsStage = action === 'retryFromStage' || fromStage !== undefined;
  if (wantsStage && (fromStage === undefined || action === 'abort' || action === 'continue')) {
    throw new UserError(
      fromStage === undefined
        ? '--action retryFromStage needs --from-stage'
        : `--from-stage does not go with --action ${action}`,
      { cure: 'Write --action retry --from-stage STAGE; `memagent status` lists the stages.', exitCode: EXIT.usage }
    );
  }
  return {
    action: wantsStage ? 'retryFromStage' : action,
    ...(fromStage === undefined ? {} : { stage: fromStage }),
    ...(note === undefined ? {} : { note }),
  };
}
