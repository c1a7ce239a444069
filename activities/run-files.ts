import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { asyncLocalStorage } from '@temporalio/activity';
import { AttemptFence, type Attempt } from '../shared/artifacts/attempt-fence.js';
import { RunStore } from '../shared/artifacts/run-store.js';
import { runDirectory } from '../shared/artifacts/run-paths.js';
import type { ArtifactKind, ArtifactRef } from '../shared/contracts/artifact.js';
import type { RunHandle } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { codeVersion } from './code-version.js';
import { withFallback } from './fallback.js';
import { enginePath } from './paths.js';
import type { Origin, RunFiles, StageRecord } from './ports.js';

export const RECIPE_FILE = 'recipe.json';

/** Recipes by hash: every activity reads its run's recipe, and a run has thousands of activities. */
const recipes = new Map<string, Recipe>();

/**
 * The recipe of a run, from its directory.
 *
 * @throws PipelineError PinMismatch when `recipe.json` is missing or not the one the workflow started with
 */
async function readRecipe(handle: RunHandle): Promise<Recipe> {
  const known = recipes.get(handle.recipeSha256);
  if (known !== undefined) return known;
  const path = join(runDirectory(handle.root, handle.pipelineId), RECIPE_FILE);
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined || createHash('sha256').update(text).digest('hex') !== handle.recipeSha256) {
    const problem = text === undefined ? 'is missing' : 'was changed since the run started';
    throw new PipelineError(
      'PinMismatch',
      `${path} ${problem}; all workers of a run need its folder at the same path`,
      { where: path }
    );
  }
  const recipe = JSON.parse(text) as Recipe;
  recipes.set(handle.recipeSha256, recipe);
  return recipe;
}

/** Opens a run for an activity. `recipe` is given only by the activity that writes it. */
export async function openRun(handle: RunHandle, recipe?: Recipe): Promise<RunFiles> {
  const written = recipe ?? (await readRecipe(handle));
  const known = handle.fallback === true ? withFallback(written) : written;
  return new StoredRun(handle, known, await RunStore.open(handle.root, handle.pipelineId));
}

class StoredRun implements RunFiles {
  private readonly fences = new Map<string, AttemptFence>();

  constructor(
    readonly handle: RunHandle,
    readonly recipe: Recipe,
    private readonly store: RunStore
  ) {}

  path(relative: string): string {
    return this.store.path(relative);
  }

  find(relative: string): Promise<ArtifactRef | undefined> {
    return this.store.find(relative);
  }

  expect(relative: string): Promise<ArtifactRef> {
    return this.store.expect(relative);
  }

  async publish(relative: string, data: string | Uint8Array, kind: ArtifactKind, origin: Origin): Promise<ArtifactRef> {
    await this.checkFences();
    return await this.store.publish(relative, data, describe(kind, origin));
  }

  async adopt(relative: string, kind: ArtifactKind, origin: Origin): Promise<ArtifactRef> {
    await this.checkFences();
    return await this.store.adopt(relative, describe(kind, origin));
  }

  async enter(work: string): Promise<void> {
    if (this.fences.has(work)) return await this.checkFences();
    const attempt = thisAttempt();
    const folder = this.store.path(`${enginePath(work)}/attempts`);
    if (attempt !== undefined) this.fences.set(work, await AttemptFence.enter(folder, attempt));
  }

  private async checkFences(): Promise<void> {
    for (const fence of this.fences.values()) await fence.check();
  }

  async readJson<T>(relative: string): Promise<T> {
    return JSON.parse(await readFile(this.store.path(relative), 'utf8')) as T;
  }

  lookupStage(key: string, options?: { onlyOf?: string | undefined }): Promise<StageRecord | undefined> {
    return this.store.lookupStage(key, options);
  }

  recordStage(record: Omit<StageRecord, 'pipelineId'>): Promise<void> {
    return this.store.recordStage(record);
  }

  forgetStage(key: string): Promise<void> {
    return this.store.forgetStage(key);
  }

  async inputsOf(relative: string): Promise<{ path: string; sha256: string }[] | undefined> {
    return (await this.store.describe(relative))?.inputs;
  }

  setAside(paths: readonly string[], name: string): Promise<void> {
    return this.store.setAside(paths, name);
  }

  heal(): Promise<string[]> {
    return this.store.heal();
  }

  writeManifest(): Promise<ArtifactRef> {
    return this.store.writeManifest();
  }
}

/** Undefined outside of an activity of Temporal: then nobody can overtake. */
function thisAttempt(): Attempt | undefined {
  const info = asyncLocalStorage.getStore()?.info;
  if (info === undefined) return undefined;
  return {
    workflowRun: info.workflowExecution?.runId ?? info.activityId,
    // The SDK numbers a run's activities; an attempt that the server repeats itself comes after the one before.
    sequence: Number(info.activityId) + (info.attempt - 1) / 1_000,
    scheduledAt: info.currentAttemptScheduledTimestampMs,
    activity: info.activityType,
    host: hostname(),
    pid: process.pid,
  };
}

function describe(
  kind: ArtifactKind,
  origin: Origin
): { kind: ArtifactKind; inputs: ArtifactRef[]; producer: { activity: string; attempt: number; codeVersion: string } } {
  return {
    kind,
    inputs: origin.inputs,
    producer: { activity: origin.activity, attempt: origin.attempt, codeVersion: codeVersion(origin.stage) },
  };
}
