import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { artifactHashes } from '../../scripts/chaos/artifact-hashes.js';
import { prepareStartFrom } from '../../cli/start-from.js';
import { liveEngines } from '../../scripts/chaos/engines.js';
import { leftovers } from '../../scripts/chaos/leftovers.js';
import { readStageKeys } from '../../shared/artifacts/stage-keys.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { COST_FILE, type CostSummary } from '../../shared/cost/summarize-cost.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from '../workflows/support.js';
import { freshTag, start, temporaryRoot, tinyRecipe, withRealWorkers } from './support.js';

const LIMIT_MS = 240_000;

let environment: TestWorkflowEnvironment;
let calm: { root: string; remove(): Promise<void> };
let calmHashes: Record<string, string>;

/** Runs the tiny laptop pipeline in a root of its own; `disturb` acts on it while it runs. */
async function run(
  root: string,
  id: string,
  disturb: (directory: string, progress: () => Promise<Progress>) => Promise<void> = async () => undefined
): Promise<Progress> {
  const tag = freshTag();
  return await withRealWorkers(environment, tag, async () => {
    const handle = await start(environment, tinyRecipe(root, tag), id);
    const progress = (): Promise<Progress> => handle.query<Progress>('progress');
    await disturb(join(root, id), progress);
    await handle.result();
    return await progress();
  });
}

function costOf(root: string, id: string): CostSummary {
  return JSON.parse(readFileSync(join(root, id, COST_FILE), 'utf8')) as CostSummary;
}

beforeAll(async () => {
  environment = await localEnvironment();
  calm = await temporaryRoot();
  await run(calm.root, 'calm');
  calmHashes = artifactHashes(join(calm.root, 'calm'));
}, LIMIT_MS);

afterAll(async () => {
  await environment.teardown();
  await calm.remove();
});

describe('the laptop pipeline on the embedded engine', () => {
  it('goes from generated data to verdict and report, and lists every file with its hash', () => {
    const directory = join(calm.root, 'calm');
    const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8')) as {
      files: { path: string; sha256: string }[];
    };
    const listed = new Map(manifest.files.map((file) => [file.path, file.sha256]));
    for (const path of [
      'recipe.json',
      'verdict.json',
      'report.html',
      'arms/relax/reward.csv',
      'eval/base/dev.jsonl',
      'eval/vime/eval_3.summary.json',
    ]) {
      expect(listed.has(path), path).toBe(true);
      expect(existsSync(join(directory, path)), path).toBe(true);
    }
    expect(listed.get('verdict.json')).toBe(calmHashes['verdict.json']);
  });

  it('keeps a ledger in which every generated turn was transferred and consumed, with no difference between sampling and training', () => {
    const lines = readFileSync(join(calm.root, 'calm', 'arms/relax/metrics.csv'), 'utf8')
      .trim()
      .split('\n');
    const header = lines[0]!.split(',');
    const rows = lines
      .slice(1)
      .map((line) => Object.fromEntries(line.split(',').map((value, index) => [header[index]!, Number(value)])));
    expect(rows).toHaveLength(4);
    for (const row of rows) {
      // 2 prompts × 4 samples, each 2 chunks and a final turn.
      expect(row['generated_turns']).toBe(24);
      expect(row['transferred_rows']).toBe(24);
      expect(row['consumed_rows']).toBe(24);
      expect(row['max_logprob_difference']).toBeLessThan(1e-4);
      expect(row['grad_norm']).toBeGreaterThan(0);
    }
  });

  it('says what every stage took, and that nothing of it was wasted', () => {
    const { stages, total, wastedShare } = costOf(calm.root, 'calm');
    for (const stage of ['data', 'smoke:relax', 'train:vime', 'convert:relax', 'evaluate'])
      expect(stages.find((each) => each.stage === stage)?.workerCpuSeconds, stage).toBeGreaterThan(0);
    for (const stage of ['train:relax', 'evaluate'])
      expect(stages.find((each) => each.stage === stage)?.engineCpuSeconds, stage).toBeGreaterThan(0);
    expect(total).toMatchObject({ failed: 0, gpuSeconds: 0 });
    expect(wastedShare).toBe(0);
    expect(readFileSync(join(calm.root, 'calm', 'report.html'), 'utf8')).toContain('What it cost');
  });

  it('leaves no process, lease or unfinished file behind', () => {
    expect(leftovers(calm.root)).toEqual([]);
  });

  it(
    'gives the same bytes when an engine is killed in the middle of training',
    async () => {
      const { root, remove } = await temporaryRoot();
      try {
        const progress = await run(root, 'killed', async (directory, ask) => {
          await until(
            async () => (await ask()).arms['relax']?.phase === 'train' && ((await ask()).arms['relax']?.step ?? 0) >= 1,
            'training runs',
            LIMIT_MS
          );
          const [engine] = liveEngines(directory);
          if (engine !== undefined) process.kill(engine.pid, 'SIGKILL');
        });
        expect(progress.state).toBe('completed');
        expect(artifactHashes(join(root, 'killed'))).toEqual(calmHashes);
        expect(leftovers(root)).toEqual([]);
        const { total, wastedShare } = costOf(root, 'killed');
        expect(total.failed).toBe(progress.failedAttempts);
        // The engine may have had no work when it was killed, and then nobody noticed.
        expect(total.failed === 0 || wastedShare > 0).toBe(true);
      } finally {
        await remove();
      }
    },
    LIMIT_MS
  );

  it(
    'reuses every stage of an equal recipe in the same root, and says so',
    async () => {
      const tag = freshTag();
      const progress = await withRealWorkers(environment, tag, async () => {
        const handle = await start(environment, tinyRecipe(calm.root, tag), 'again');
        await handle.result();
        return await handle.query<Progress>('progress');
      });
      expect(progress.stages.find((stage) => stage.name === 'data')?.state).toBe('reused');
      expect(progress.stages.find((stage) => stage.name === 'evaluate')?.state).toBe('reused');
      const again = artifactHashes(join(calm.root, 'again'));
      expect(again['verdict.json']).toBe(calmHashes['verdict.json']);
      expect(again['arms/vime/checkpoints/iter_0000003/model.safetensors']).toBe(
        calmHashes['arms/vime/checkpoints/iter_0000003/model.safetensors']
      );
    },
    LIMIT_MS
  );

  it(
    'makes the evaluation anew, and takes over all before it, when it is started from that stage of another run',
    async () => {
      const tag = freshTag();
      // The first time nobody starts it, as when the server cannot be reached.
      await prepareStartFrom(join(calm.root, 'calm'), 'evaluate', undefined);
      const forced = await prepareStartFrom(join(calm.root, 'calm'), 'evaluate', undefined);
      expect(forced).toMatchObject({ id: 'calm-from-evaluate', anew: ['evaluate'] });
      const recipe = { ...(forced.raw as object), placement: tinyRecipe(calm.root, tag)['placement'] };
      const progress = await withRealWorkers(environment, tag, async () => {
        const handle = await start(environment, recipe, forced.id);
        await handle.result();
        return await handle.query<Progress>('progress');
      });
      expect(progress.stages.find((stage) => stage.name === 'data')?.state).toBe('reused');
      expect(progress.stages.find((stage) => stage.name === 'evaluate')?.state).toBe('done');
      const keys = await readStageKeys(join(calm.root, forced.id));
      expect(keys.find((key) => key.stage === 'train:vime')?.reusedFrom).toBe('calm');
      expect(keys.find((key) => key.stage === 'evaluate:vime/dev')?.reusedFrom).toBeUndefined();
      await expect(prepareStartFrom(join(calm.root, 'calm'), 'evaluate', undefined)).rejects.toThrow('already');
    },
    LIMIT_MS
  );

  it(
    'stops its engines within seconds when it is cancelled',
    async () => {
      const { root, remove } = await temporaryRoot();
      const tag = freshTag();
      try {
        await withRealWorkers(environment, tag, async () => {
          const recipe = tinyRecipe(root, tag, {
            grpo: { steps: 500, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 100 },
          });
          const handle = await start(environment, recipe, 'cancelled');
          await until(
            async () => (await handle.query<Progress>('progress')).arms['vime']?.phase === 'train',
            'training runs',
            LIMIT_MS
          );
          await handle.cancel();
          await expect(handle.result()).rejects.toThrow();
          expect((await handle.query<Progress>('progress')).state).toBe('cancelled');
          expect(leftovers(root)).toEqual([]);
        });
      } finally {
        await remove();
      }
    },
    LIMIT_MS
  );
});
