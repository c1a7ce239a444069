import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openJobArm } from '../../activities/job-arm.js';
import { armPaths } from '../../activities/paths.js';
import { openRun } from '../../activities/run-files.js';
import {
  armKeyParts,
  evaluationKeyParts,
  lookupFiles,
  recordFiles,
  recordJobArm,
} from '../../activities/stage-reuse.js';
import type { RunFiles } from '../../activities/ports.js';
import { hashJson } from '../../shared/contracts/canonical-json.js';
import { parseRecipe } from '../../shared/contracts/recipe-parse.js';
import { tinyRecipe } from '../e2e/support.js';

const SAMPLES = 'eval/base/dev.jsonl';
const ORIGIN = { stage: 'evaluate', activity: 'evaluateModel', attempt: 1, inputs: [] } as const;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-reuse-'));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** A run whose data and model have the same bytes in every run. */
async function runOf(pipelineId: string, modelPath: string, changes: object = {}): Promise<RunFiles> {
  const recipe = parseRecipe({ ...tinyRecipe(root, 'local'), model: { path: modelPath }, ...changes }, 'the test');
  const run = await openRun({ pipelineId, root, recipeSha256: '' }, recipe);
  await run.publish('model.json', '{"files":[]}', 'source', { ...ORIGIN, inputs: [] });
  for (const name of ['train', 'dev'])
    await run.publish(`data/${name}.jsonl`, '{}\n', 'dataset', { ...ORIGIN, inputs: [] });
  return run;
}

async function keyOf(run: RunFiles): Promise<Record<string, unknown>> {
  return await evaluationKeyParts(run, { run: run.handle, model: 'base', dataset: 'dev' });
}

describe('reuse of an evaluation', () => {
  it('happens in another run with equal model, data and settings, and not under another name of the tokenizer', async () => {
    const first = await runOf('first', 'models/laptop');
    await first.publish(SAMPLES, '{"index":0}\n', 'evaluation-samples', { ...ORIGIN, inputs: [] });
    await recordFiles(first, 'evaluate:base/dev', await keyOf(first), [SAMPLES]);

    const equal = await runOf('equal', 'models/laptop');
    expect(await lookupFiles(equal, 'evaluate:base/dev', await keyOf(equal), [SAMPLES])).toBe(true);
    // The judge compares what the summaries call their tokenizer: a name of another run would make models incomparable.
    const renamed = await runOf('renamed', './models/laptop');
    expect(await lookupFiles(renamed, 'evaluate:base/dev', await keyOf(renamed), [SAMPLES])).toBe(false);
  });
});

describe('reuse of an arm that jobs trained', () => {
  it('is the own run’s alone: the jobs and steps of an equal run are not taken for this one’s', async () => {
    const args = { arm: 'relax', phase: 'train', totalSteps: 2 } as const;
    const lineage = `${armPaths('relax', 'train').job}/lineage.json`;
    const close = async (run: RunFiles): Promise<void> => {
      const record = await run.publish(lineage, '{}', 'log', { ...ORIGIN, inputs: [] });
      const parts = await armKeyParts(run, { ...args, run: run.handle });
      const checkpoint = await run.publish('checkpoint.json', '{"files":[]}', 'checkpoint', { ...ORIGIN, inputs: [] });
      const facts = { steps: 2, firstWindowMean: 0, lastWindowMean: 0, rewards: [0, 0], artifacts: [], checkpoint };
      await recordJobArm(run, { ...args, run: run.handle }, parts, facts, [record]);
    };
    const first = await runOf('jobs-first', 'models/laptop');
    await close(first);
    expect(await openJobArm(first, { ...args, run: first.handle })).toMatchObject({ finished: { steps: 2 } });

    const equal = await runOf('jobs-equal', 'models/laptop');
    expect(await openJobArm(equal, { ...args, run: equal.handle })).toEqual({ nextStep: 0, rewards: [] });
    expect(await equal.find(lineage)).toBeUndefined();
  });
});

describe('reuse and ablations', () => {
  it('an ablation trains anew; evaluations are made anew only when they read without a memory', async () => {
    const plain = await runOf('plain', 'models/laptop');
    const shuffled = await runOf('shuffled', 'models/laptop', { ablation: { shuffledAdvantages: true } });
    const emptied = await runOf('emptied', 'models/laptop', { ablation: { emptyMemory: true } });
    const armOf = async (run: RunFiles) =>
      hashJson(await armKeyParts(run, { run: run.handle, arm: 'relax', phase: 'train', totalSteps: 2 }));
    const evaluationOf = async (run: RunFiles) => hashJson(await keyOf(run));

    expect(new Set(await Promise.all([plain, shuffled, emptied].map(armOf))).size).toBe(3);
    expect(await evaluationOf(shuffled)).toBe(await evaluationOf(plain));
    expect(await evaluationOf(emptied)).not.toBe(await evaluationOf(plain));
  });
});
