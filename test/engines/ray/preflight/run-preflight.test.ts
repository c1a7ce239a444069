import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RayJobsClient } from '../../../../engines/ray/jobs/client.js';
import { launchSpec } from '../../../../engines/ray/launch/launch-spec.js';
import { manualScript } from '../../../../engines/ray/launch/manual.js';
import { StepLog } from '../../../../engines/ray/log/step-log.js';
import type { PreflightFacts } from '../../../../engines/ray/preflight/preflight-job.js';
import { runPreflight } from '../../../../engines/ray/preflight/run-preflight.js';
import { hashFile } from '../../../../shared/artifacts/atomic-file.js';
import type { Recipe } from '../../../../shared/contracts/recipe.js';
import { packageRoot } from '../../../../shared/runtime/entry.js';
import { frameworkCheckouts } from '../../../helpers/framework-checkouts.js';
import { rayEnvironment, startRayHead, type RayHead } from '../../../helpers/ray-head.js';
import { changedRecipe, factsIn, tinyRecipe, TRAJECTORIES, writeTrainData, type RawRecipe } from '../support.js';

const environment = await rayEnvironment();
const why = 'missing' in environment ? environment.missing : '';

let folder: string;
let head: RayHead;
let client: RayJobsClient;
let commit: string;
let facts: PreflightFacts;

beforeAll(async () => {
  if ('missing' in environment) return;
  folder = await mkdtemp(join(tmpdir(), 'memagent-preflight-'));
  ({ commit } = (await frameworkCheckouts(folder)).vime);
  const train = join(folder, 'run', 'train.jsonl');
  await writeTrainData(train);
  const modelDir = join(packageRoot(), 'models', 'laptop');
  facts = {
    modelDir,
    modelFiles: [{ name: 'config.json', ...(await hashFile(join(modelDir, 'config.json'))) }],
    trainData: { name: train, ...(await hashFile(train)) },
    saveDir: join(folder, 'run', 'checkpoints'),
    marker: { path: join(folder, 'run', 'seen'), text: 'one of us' },
  };
  head = await startRayHead(environment.venv, 1);
  client = await RayJobsClient.open({ address: head.address });
}, 180_000);
afterAll(async () => {
  await client?.close();
  await head?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

function recipe(change: (raw: RawRecipe) => void): Promise<Recipe> {
  return changedRecipe('qwen3-0.6b', (raw) => {
    Object.assign(raw.cluster, { address: head.address, python: head.python, gpuMemoryGiB: 0, freeDiskGiB: 0 });
    Object.assign(raw.arms['vime'] ?? {}, { path: join(folder, 'vime'), commit });
    change(raw);
  });
}

const look = (wanted: Recipe, seen = facts) => runPreflight(client, wanted, 'vime', seen, new AbortController().signal);

describe.skipIf(why !== '')(`a preflight on a real Ray head${why === '' ? '' : ` (skipped: ${why})`}`, () => {
  it('finds nothing where all is as the recipe says, and leaves nothing behind', async () => {
    expect(await look(await recipe(() => undefined))).toEqual({ problems: [], busy: [] });
    expect(existsSync(facts.marker.path)).toBe(false);
    expect((await client.list()).filter(({ submissionId }) => submissionId.includes('preflight'))).toEqual([]);
  });

  it('finds everything that is wrong at once', async () => {
    await appendFile(join(folder, 'vime', 'train.py'), '# changed\n');
    await rm(join(folder, 'vime', 'examples', 'mem_agent', 'custom_convert.py'));
    const wanted = await recipe((raw) => {
      Object.assign(raw.arms['vime'] ?? {}, { commit: '8d8f25586da035661f95053d748421d33b8c9b68' });
      Object.assign(raw.cluster, { gpus: 8, tensorParallel: 8, freeDiskGiB: 1e9 });
    });
    const size = (await stat(facts.trainData.name)).size;
    const [config] = facts.modelFiles;
    const { problems } = await look(wanted, {
      ...facts,
      modelFiles: [{ ...config, name: 'config.json', bytes: config?.bytes ?? 0, sha256: '0'.repeat(64) }],
      trainData: { ...facts.trainData, bytes: size + 1 },
    });
    expect(problems.map((problem) => problem.replace(/^[\d.]+ \([^)]*\): /, ''))).toEqual([
      `${folder}/vime: commit ${commit.slice(0, 12)}, the recipe names 8d8f25586da0`,
      `${folder}/vime: changed beside the commit: examples/mem_agent/custom_convert.py, train.py`,
      `${folder}/vime: this commit lacks what the launch recipe names: examples/mem_agent/custom_convert.py`,
      expect.stringMatching(/^model file .*config\.json: SHA-256 .*…, expected 000000000000…$/) as string,
      `training data ${facts.trainData.name}: ${size} bytes, expected ${size + 1}`,
      'GPUs: the cluster has 1, the recipe’s job needs 8',
      expect.stringMatching(/GiB free at .*, the recipe asks for 1000000000$/) as string,
    ]);
  });

  it('says why it could not look', async () => {
    const wanted = await recipe((raw) => Object.assign(raw.cluster, { python: '/nowhere/python3' }));
    await expect(look(wanted)).rejects.toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringContaining('could not look at the cluster') as string,
    });
  });
});

describe.skipIf(why !== '')(
  `a printed launch script on a real Ray head${why === '' ? '' : ` (skipped: ${why})`}`,
  () => {
    it('trains when a person runs it, with Ray’s own command line', async () => {
      const wanted = await tinyRecipe(2);
      const spec = launchSpec(wanted, 'relax', 'smoke', factsIn(join(folder, 'run'), 2));
      const path = `${dirname(head.python)}:${process.env['PATH'] ?? ''}`;
      const output = await new Promise<string>((resolve) => {
        const options = { env: { ...process.env, PATH: path, RAY_ADDRESS: '' }, timeout: 60_000 };
        execFile('/bin/sh', ['-c', manualScript(spec, head.address)], options, (_error, out, err) =>
          resolve(out + err)
        );
      });
      expect(output).toContain('succeeded');
      const log = new StepLog('relax', TRAJECTORIES);
      log.push(output);
      log.end();
      expect([...log.records.values()].map(({ reward }) => typeof reward)).toEqual(['number', 'number']);
    });
  }
);
