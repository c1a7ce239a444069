import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { defaultRunId, startRun } from '../../cli/start-run.js';
import { parseRecipe, recipeHash } from '../../shared/contracts/recipe-parse.js';
import { startDevStack } from '../../workers/dev-stack.js';
import { nextFreePort } from '../../shared/runtime/ports.js';
import { connectClient, type TemporalClient } from '../../workers/temporal-target.js';
import type { StudyRun } from './plan.js';

/** First port that is tried for the study's own Temporal server. */
const PORT = 18_433;

/** A run's folder; the id follows from the recipe, so that the same study comes back to the same runs. */
export function folderOf(run: StudyRun, root: string): string {
  return join(root, defaultRunId(parseRecipe(run.recipe, run.name)));
}

/** Whether a run came to its verdict with this very recipe. */
export async function isFinished(run: StudyRun, root: string): Promise<boolean> {
  const folder = folderOf(run, root);
  if (!existsSync(join(folder, 'verdict.json'))) return false;
  const stored: unknown = JSON.parse(await readFile(join(folder, 'recipe.json'), 'utf8'));
  return recipeHash(parseRecipe(stored, folder)) === recipeHash(parseRecipe(run.recipe, run.name));
}

/**
 * Runs what is not finished, on a development stack of its own; what an interrupted study has done is gone on with.
 *
 * Runs that only evaluate what another one trains wait for the trained ones, so that they find it.
 *
 * @param atOnce pipelines at once
 * @returns one sentence for each run that failed
 */
export async function runAll(
  runs: readonly StudyRun[],
  root: string,
  atOnce: number,
  say: (text: string) => void
): Promise<string[]> {
  const open: StudyRun[] = [];
  for (const run of runs) if (!(await isFinished(run, root))) open.push(run);
  say(`${runs.length - open.length} of ${runs.length} runs are there already`);
  if (open.length === 0) return [];
  const env = { ...process.env, TEMPORAL_ADDRESS: `127.0.0.1:${await nextFreePort(PORT)}` };
  const stack = await startDevStack({ runsRoot: root, env, notice: say });
  try {
    const connected = await connectClient(stack.target);
    try {
      const stop = new AbortController();
      const working = inTurns(connected, open, { atOnce, say, signal: stop.signal });
      return await Promise.race([working, stack.failed, interrupted(stop)]);
    } finally {
      await connected.close();
    }
  } finally {
    await stack.stop();
  }
}

/** Rejects on Ctrl-C or `kill`, so that the stack is stopped in good order; the server's file keeps what was under way. */
function interrupted(stop: AbortController): Promise<never> {
  return new Promise((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(new Error('interrupted; run it again to go on')));
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  });
}

async function inTurns(
  connected: TemporalClient,
  runs: readonly StudyRun[],
  { atOnce, say, signal }: { atOnce: number; say: (text: string) => void; signal: AbortSignal }
): Promise<string[]> {
  const failures: string[] = [];
  const queue = new PQueue({ concurrency: atOnce });
  const trained = new Map<number, Promise<void>>();
  for (const run of runs) {
    const takesOver = run.kind === 'greedy' || run.kind === 'tries';
    const before = takesOver ? trained.get(run.seed) : undefined;
    const done = queue.add(async () => {
      await before;
      if (signal.aborted) return;
      const failure = await oneRun(connected, run, (text) => signal.aborted || say(text));
      if (failure !== undefined) failures.push(failure);
    }) as Promise<void>;
    if (run.kind === 'seed') trained.set(run.seed, done);
  }
  await queue.onIdle();
  return failures;
}

async function oneRun(
  connected: TemporalClient,
  run: StudyRun,
  say: (text: string) => unknown
): Promise<string | undefined> {
  const startedAt = performance.now();
  const recipe = parseRecipe(run.recipe, run.name);
  const id = defaultRunId(recipe);
  say(`${run.name}: started as ${id}`);
  try {
    await startRun(connected, id, run.recipe, recipe);
    await connected.client.workflow.getHandle(id).result();
    say(`${run.name}: done in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    return undefined;
  } catch (error) {
    const cause = (error as { cause?: Error }).cause ?? (error as Error);
    const failure = `${run.name}: ${cause.message}`;
    say(failure);
    return failure;
  }
}
