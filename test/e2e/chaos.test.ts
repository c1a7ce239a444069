import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chaosReport } from '../../scripts/chaos/chaos-report.js';
import { compareCalmAndChaos, type ChaosResult } from '../../scripts/chaos/compare-runs.js';
import { tinyRecipe } from './support.js';

const SEED = 3;
const FAULTS = 10;
const HEARTBEAT_SECONDS = 2;
const LIMIT_MS = 400_000;

let folder: string;
let result: ChaosResult;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'memagent-chaos-')));
  result = await compareCalmAndChaos({
    folder,
    seed: SEED,
    faults: FAULTS,
    recipe: tinyRecipe('', 'local', {
      grpo: { steps: 40, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, weightDecay: 0, checkpointEvery: 6 },
      limits: { heartbeatSeconds: HEARTBEAT_SECONDS },
    }),
    heartbeatMs: HEARTBEAT_SECONDS * 1000,
    processes: [
      ['workflow', 'data'],
      ['rollout', 'train', 'convert', 'evaluate'],
    ],
    say: () => undefined,
  });
}, LIMIT_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a run that is hurt ten times', () => {
  it('ends with the bytes of the calm run in every artifact', () => {
    expect(result.chaos.faults).toHaveLength(FAULTS);
    expect(result.compared).toBeGreaterThan(100);
    expect(result.differing, chaosReport(result, SEED)).toEqual([]);
  });

  it('accounts for every failed attempt: the server’s history, the attempts table and the faults agree', () => {
    expect(result.ledger.problems, chaosReport(result, SEED)).toEqual([]);
    expect(result.calm.progress.failedAttempts).toBe(0);
  });

  it('leaves no process, lease or unfinished file behind', () => {
    expect(result.left).toEqual([]);
  });
});
