import { once } from 'node:events';
import { join } from 'node:path';
import { EXIT } from '../../shared/contracts/user-error.js';
import { runs, withExamples, type CommandContext } from '../command.js';

interface DevOptions {
  runs: string;
}

export function addDev(context: CommandContext): void {
  const command = context.program
    .command('dev')
    .description(
      'Runs everything a laptop needs: a Temporal server if none is reachable, and one worker for every role with tag local.'
    )
    .option('--runs <folder>', 'folder of all runs; database and logs are in its .temporal', './runs');
  withExamples(command, 'memagent dev', 'TEMPORAL_ADDRESS=127.0.0.1:7400 memagent dev');
  runs(command, context, (options: DevOptions) => serve(context, options));
}

async function serve({ terminal }: CommandContext, options: DevOptions): Promise<number> {
  const interrupted = terminal.handleInterrupts();
  const { startDevStack } = await import('../../workers/dev-stack.js');
  const stack = await startDevStack({
    runsRoot: options.runs,
    env: terminal.env,
    notice: (text) => terminal.err(text),
  });
  terminal.err(
    `one worker serves every role with tag local; its log: ${join(options.runs, '.temporal', 'worker.log')}`
  );
  terminal.err('start a run in another terminal: memagent start recipes/laptop.json --watch');
  terminal.err('Ctrl-C stops the stack; runs go on when it is started again.');
  try {
    if (!interrupted.aborted) await Promise.race([once(interrupted, 'abort'), stack.failed]);
  } finally {
    terminal.err('stopping');
    await stack.stop();
  }
  return EXIT.interrupted;
}
