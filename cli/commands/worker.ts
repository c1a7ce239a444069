import { LOCAL_TAG } from '../../shared/contracts/queues.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { parseRoles, parseTag, planQueues, WORKER_ROLES } from '../../workers/queue-plan.js';
import { runs, withExamples, type CommandContext } from '../command.js';
import { positiveInteger } from '../number-options.js';

interface WorkerCommandOptions {
  role: string[];
  tag: string;
  concurrency?: number;
  metrics?: string;
  logLevel: string;
}

export function addWorker(context: CommandContext): void {
  const command = context.program
    .command('worker')
    .description('Serves task queues until it is stopped (Ctrl-C or SIGTERM gives its activities back).')
    .option('--role <role>', `what to do: ${WORKER_ROLES.join(', ')} or all; repeatable`, collect, [])
    .option('--tag <tag>', 'kind of this machine, as in the recipe’s placement', LOCAL_TAG)
    .option('--concurrency <n>', 'activities at once of each GPU role (default: 1; 2 with tag local)', positiveInteger)
    .option('--metrics <address>', 'serve Prometheus metrics at host:port')
    .option('--log-level <level>', 'debug, info, warn or error', 'info');
  withExamples(command, 'memagent worker --role train --tag h100x8', 'memagent worker --role all --tag local');
  runs(command, context, (options: WorkerCommandOptions) => serve(context, options));
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

async function serve({ terminal }: CommandContext, options: WorkerCommandOptions): Promise<number> {
  const plans = planQueues(parseRoles(options.role), parseTag(options.tag), options.concurrency);
  const [{ temporalTarget }, { runWorkerProcess }, { createLog }] = await Promise.all([
    import('../../workers/temporal-target.js'),
    import('../../workers/worker.js'),
    import('../../workers/log.js'),
  ]);
  const target = temporalTarget(terminal.env);
  const log = createLog({ level: options.logLevel, env: terminal.env });
  // The SDK's run time stops the workers on these signals; the process must live until they have.
  terminal.handleInterrupts();
  let interrupted = false;
  process.once('SIGINT', () => (interrupted = true));
  await runWorkerProcess({
    plans,
    target,
    log,
    ...(options.metrics === undefined ? {} : { metricsAddress: options.metrics }),
  });
  return interrupted ? EXIT.interrupted : EXIT.ok;
}
