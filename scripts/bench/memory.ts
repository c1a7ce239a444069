import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedActorClient } from '../../engines/embedded/client/actor-client.js';
import { ensureEngine, stopEngine } from '../../engines/embedded/supervisor/supervisor.js';
import { writeRows } from '../../shared/artifacts/rows-parquet.js';
import type { PolicyRow } from '../../engines/embedded/policy-api.js';

export interface MemoryFacts {
  steps: number;
  /** Resident memory after some of the steps. */
  residentMiB: { step: number; mib: number }[];
  /** Most that was ever resident. */
  peakMiB: number;
}

/** Trains an engine process of its own for many steps and reads how much memory it holds. null where /proc is missing. */
export async function measureMemory(
  modelDir: string,
  rows: readonly Required<PolicyRow>[],
  steps: number
): Promise<MemoryFacts | null> {
  const folder = await mkdtemp(join(tmpdir(), 'memagent-bench-'));
  const engineDir = join(folder, 'engine');
  const { endpoint, lease } = await ensureEngine({ engineDir, modelDir, mode: 'actor', contextLength: 128 });
  const client = new EmbeddedActorClient(endpoint);
  try {
    const path = join(folder, 'rows.parquet');
    const { sha256 } = await writeRows(path, table(rows));
    const residentMiB: MemoryFacts['residentMiB'] = [];
    for (let step = 0; step < steps; step += 1) {
      await client.trainStep({
        step,
        expected_weights_version: step,
        rows: { path, sha256 },
        hyper: {
          learningRate: 1e-5,
          betas: [0.9, 0.999],
          epsilon: 1e-8,
          weightDecay: 0,
          gradientClip: 1,
          klCoefficient: 0.001,
          clip: [0.2, 0.3],
          lossReduction: 'sample_mean',
          temperature: 1,
        },
      });
      const done = step + 1;
      if (done === 1 || done % (steps / 5) === 0) {
        const mib = memoryOf(lease.engine.pid, 'VmRSS');
        if (mib === null) return null;
        residentMiB.push({ step: done, mib });
      }
    }
    return { steps, residentMiB, peakMiB: memoryOf(lease.engine.pid, 'VmHWM') ?? NaN };
  } finally {
    await client.close();
    await stopEngine(engineDir);
    await rm(folder, { recursive: true, force: true });
  }
}

function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number | null {
  try {
    const line = new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return line === null ? null : Number(line[1]) / 1024;
  } catch {
    return null;
  }
}

function table(rows: readonly Required<PolicyRow>[]): Parameters<typeof writeRows>[1] {
  const numbers = rows.map((_, index) => index);
  return {
    tokens: rows.map(({ tokens }) => [...tokens]),
    response_lengths: rows.map(({ responseLength }) => responseLength),
    loss_masks: rows.map(({ lossMask }) => [...lossMask]),
    rollout_log_probs: rows.map(({ oldLogProbs }) => [...oldLogProbs]),
    rewards: rows.map(({ advantage }) => advantage),
    raw_reward: rows.map(({ advantage }) => (advantage > 0 ? 1 : 0)),
    truncated: rows.map(() => 0),
    sample_indices: numbers,
    trajectory_indices: numbers,
    turn_indices: rows.map(() => 0),
    total_lengths: rows.map(({ tokens }) => tokens.length),
  };
}
