import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { launchSpec } from '../../../engines/ray/launch/launch-spec.js';
import { StepLog } from '../../../engines/ray/log/step-log.js';
import type { Flavour, JobEnd, JobSpec, LaunchFacts } from '../../../engines/ray/types.js';
import { parseRecipe } from '../../../shared/contracts/recipe-parse.js';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import { packageRoot } from '../../../shared/runtime/entry.js';

/** Folder of the programs that stand in for the frameworks' checkouts. */
export const FRAMEWORKS = join(packageRoot(), 'test', 'fixtures', 'frameworks');
export const TRAJECTORIES = 8;

/** A recipe of a repository's file, changed. */
export async function changedRecipe(name: string, change: (raw: RawRecipe) => void): Promise<Recipe> {
  const raw = JSON.parse(await readFile(join(packageRoot(), 'recipes', `${name}.json`), 'utf8')) as RawRecipe;
  change(raw);
  return parseRecipe(raw, name);
}

export interface RawRecipe {
  [key: string]: unknown;
  arms: Record<string, Record<string, unknown>>;
  cluster: Record<string, unknown>;
}

/** A tiny training run on the stand-ins: 2 prompts × 4 trajectories a step. */
export function tinyRecipe(steps: number, env: Record<string, string> = {}): Promise<Recipe> {
  return changedRecipe('qwen3-0.6b', (raw) => {
    raw['model'] = { ...(raw['model'] as object), path: join(packageRoot(), 'models', 'laptop') };
    raw['memory'] = { chunkTokens: 24, memoryTokens: 16, finalTokens: 8, maxChunks: 64 };
    raw['grpo'] = { steps, promptsPerStep: 2, groupSize: 4, checkpointEvery: 2 };
    // No device is asked for where there is none.
    Object.assign(raw.cluster, { gpuMemoryGiB: 0, freeDiskGiB: 0 });
    raw.cluster['env'] = { PYTHONPATH: '/nowhere', IMITATE_STEP_SECONDS: '0', ...env };
    for (const [name, arm] of Object.entries(raw.arms)) arm['path'] = join(FRAMEWORKS, name);
  });
}

/** Training rows with contexts of different lengths. */
export async function writeTrainData(path: string): Promise<void> {
  const rows = Array.from({ length: 10 }, (_, at) => {
    const context = Array.from({ length: 60 + 20 * at }, () => 'w').join(' ');
    return JSON.stringify({
      prompt: `q${at}`,
      label: 'a',
      metadata: { question: `q${at}`, context, ground_truth: ['a'] },
    });
  });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${rows.join('\n')}\n`);
}

export function factsIn(dir: string, numRollout: number, rest: Partial<LaunchFacts> = {}): LaunchFacts {
  return {
    saveDir: join(dir, 'checkpoints'),
    trainData: join(dir, 'train.jsonl'),
    modelDir: join(packageRoot(), 'models', 'laptop'),
    numRollout,
    resume: undefined,
    dumpDir: join(dir, 'job'),
    ...rest,
  };
}

export interface Finished {
  log: StepLog;
  output: string;
  end: JobEnd;
}

/** Runs a job's command as Ray would, without Ray. */
export async function runJob(recipe: Recipe, arm: Flavour, facts: LaunchFacts): Promise<Finished> {
  const spec = launchSpec(recipe, arm, facts.numRollout <= 2 ? 'smoke' : 'train', facts);
  for (const { path, text } of spec.files ?? []) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const { output, exitCode } = await shell(spec);
  const log = new StepLog(arm, TRAJECTORIES);
  log.push(output);
  log.end();
  const status = exitCode === 0 ? 'SUCCEEDED' : 'FAILED';
  const message = exitCode === 0 ? '' : `Job entrypoint command failed with exit code ${exitCode}`;
  return { log, output, end: { status, message, exitCode, errorType: undefined, logTail: output } };
}

function shell({ entrypoint, runtimeEnv }: JobSpec): Promise<{ output: string; exitCode: number }> {
  const env = { ...process.env, ...runtimeEnv.env_vars };
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', `{ ${entrypoint}; } 2>&1`], { env, timeout: 60_000 }, (error, stdout) => {
      const exitCode =
        error === null ? 0 : typeof error.code === 'number' ? error.code : -(error.signal === 'SIGKILL' ? 9 : 6);
      resolve({ output: stdout, exitCode });
    });
  });
}
