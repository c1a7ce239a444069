import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRecipeFile } from '../../shared/contracts/recipe-parse.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import type { TemporalClient } from '../../workers/temporal-target.js';
import { runs, withExamples, type CommandContext } from '../command.js';
import { exitCodeOf, outcomeText } from '../outcome.js';
import type { Snapshot } from '../pipeline-client.js';
import { defaultRunId, startRun } from '../start-run.js';
import type { Terminal } from '../terminal.js';
import { watchRun } from '../watch-run.js';

interface DemoOptions {
  recipe?: string;
  json?: boolean;
}

/** A worker needs seconds to start, and after a crash the server first tries the dead one. Unit: milliseconds. */
const WORKER_START_MS = 45_000;

/** A server and workers to run on: a stack of our own, or one that `memagent dev` runs for the same folder. */
interface Stack {
  connected: TemporalClient;
  uiUrl: string | undefined;
  failed: Promise<never>;
  owned: boolean;
  stop(): Promise<void>;
}

export function addDemo(context: CommandContext): void {
  const command = context.program
    .command('demo')
    .description(
      'Runs the laptop recipe from raw data to verdict. Ctrl-C stops it; running it again goes on from there. Exit code 0: it came to a verdict.'
    )
    .option('--recipe <file>', 'another recipe for this machine (default: the shipped recipes/laptop.json)')
    .option('--json', 'print every change as one JSON object');
  withExamples(command, 'memagent demo', 'memagent demo --recipe my.json');
  runs(command, context, (options: DemoOptions) => demo(context, options));
}

async function demo({ terminal }: CommandContext, options: DemoOptions): Promise<number> {
  const file = options.recipe ?? shippedRecipe();
  const { recipe, raw } = await readRecipeFile(file);
  const id = defaultRunId(recipe);
  const interrupted = terminal.handleInterrupts();
  const stack = await openStack(terminal, recipe);
  const over = new AbortController();
  let last: Snapshot | undefined;
  try {
    const started = await startRun(stack.connected, id, raw, recipe);
    terminal.err(started === 'started' ? `started ${id} from ${file}` : `${id} was interrupted; it goes on`);
    const signal = AbortSignal.any([interrupted, over.signal]);
    const watching = watchRun(terminal, stack.connected, id, {
      json: options.json === true,
      signal,
      ...(stack.owned ? { graceMs: WORKER_START_MS } : {}),
    });
    last = await Promise.race([watching, stack.failed]);
    if (last !== undefined && last.status !== 'RUNNING' && options.json !== true) terminal.out(outcomeText(last));
  } finally {
    over.abort();
    if (stack.owned) terminal.err('stopping the development stack');
    await stack.stop();
  }
  terminal.err(farewell(id, stack, last));
  return demoCode(last);
}

/** A demonstration that came to its verdict has worked, whatever the verdict is; `memagent start --watch` tells verdicts apart. */
function demoCode(last: Snapshot | undefined): number {
  return last?.status === 'COMPLETED' ? EXIT.ok : exitCodeOf(last);
}

/** The recipe beside the caller, so that an edited copy of the checkout is used; else the package's. */
function shippedRecipe(): string {
  const here = join('recipes', 'laptop.json');
  return existsSync(here) ? here : join(packageRoot(), 'recipes', 'laptop.json');
}

async function openStack(terminal: Terminal, recipe: Recipe): Promise<Stack> {
  const [{ runningStack, startDevStack }, { connectClient, localTarget }] = await Promise.all([
    import('../../workers/dev-stack.js'),
    import('../../workers/temporal-target.js'),
  ]);
  const runsRoot = resolve(recipe.artifacts);
  const running = await runningStack(runsRoot);
  if (running !== undefined) {
    terminal.err(`using the development stack of process ${running.owner.pid}`);
    const connected = await connectClient(localTarget(running.address, running.namespace));
    const failed = new Promise<never>(() => undefined);
    return { connected, uiUrl: running.uiUrl, failed, owned: false, stop: () => connected.close() };
  }
  const stack = await startDevStack({ runsRoot, env: terminal.env, notice: (text) => terminal.err(text) });
  try {
    const connected = await connectClient(stack.target);
    const stop = async (): Promise<void> => {
      await connected.close();
      await stack.stop();
    };
    return { connected, uiUrl: stack.uiUrl, failed: stack.failed, owned: true, stop };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

function farewell(id: string, stack: Stack, last: Snapshot | undefined): string {
  const namespace = stack.connected.target.namespace;
  const lines: string[] = [];
  if (last === undefined || last.status === 'RUNNING')
    lines.push(`interrupted: ${id} is kept and goes on when you run \`memagent demo\` (or \`make demo\`) again`);
  if (stack.uiUrl !== undefined) {
    const page = `${stack.uiUrl}/namespaces/${namespace}/workflows/${id}`;
    lines.push(stack.owned ? `Web UI:  ${page} (while \`memagent dev\` runs)` : `Web UI:  ${page}`);
  }
  return lines.join('\n');
}
