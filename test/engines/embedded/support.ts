import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeRows } from '../../../shared/artifacts/rows-parquet.js';
import type { TrainingRows } from '../../../shared/contracts/trajectory.js';
import { packageRoot } from '../../../shared/runtime/entry.js';
import { EmbeddedActorClient, type TrainCall, type TrainHyper } from '../../../engines/embedded/client/actor-client.js';
import {
  ensureEngine,
  stopEngine,
  type EngineHandle,
  type EngineSpec,
} from '../../../engines/embedded/supervisor/supervisor.js';

export const LAPTOP = join(packageRoot(), 'models/laptop');

export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'memagent-engine-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A running engine with a folder of its own; `stop` ends it and removes the folder. */
export interface RunningEngine extends EngineHandle {
  folder: string;
  spec: EngineSpec;
  client: EmbeddedActorClient;
  post(path: string, body: unknown, init?: RequestInit): Promise<Reply>;
  get(path: string): Promise<Reply>;
  stop(): Promise<void>;
}

export interface Reply {
  status: number;
  text: string;
  /** The body as JSON; undefined when it is not. */
  json: unknown;
}

export async function startTestEngine(options: Partial<EngineSpec> = {}): Promise<RunningEngine> {
  const folder = await temporaryFolder();
  const engineDir = join(folder.path, 'engine');
  const spec: EngineSpec = { engineDir, modelDir: LAPTOP, mode: 'serve', contextLength: 256, ...options };
  const handle = await ensureEngine(spec);
  const client = new EmbeddedActorClient(handle.endpoint);
  return {
    ...handle,
    folder: folder.path,
    spec,
    client,
    post: (path, body, init) => post(handle.endpoint + path, body, init),
    get: (path) => reply(fetch(handle.endpoint + path)),
    stop: async () => {
      await client.close();
      await stopEngine(engineDir);
      await folder.remove();
    },
  };
}

/** A text is sent as it is, anything else as JSON. */
export function post(url: string, body: unknown, init: RequestInit = {}): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return reply(fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text, ...init }));
}

async function reply(response: Promise<Response>): Promise<Reply> {
  const { status, ...rest } = await response.then(async (r) => ({ status: r.status, text: await r.text() }));
  let json: unknown;
  try {
    json = JSON.parse(rest.text);
  } catch {
    json = undefined;
  }
  return { status, text: rest.text, json };
}

/** One reply object of `/generate`. */
export interface Generated {
  text: string;
  output_ids: number[];
  meta_info: {
    id: string;
    finish_reason: { type: string; matched?: number; length?: number };
    prompt_tokens: number;
    completion_tokens: number;
    weight_version: string;
    input_token_logprobs: [number | null, number, string | null][];
    output_token_logprobs: [number, number, string | null][];
    output_top_logprobs: [number, number, null][][];
  };
}

export const HYPER: TrainHyper = {
  learningRate: 2e-4,
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: 1,
  klCoefficient: 0.001,
  clip: [0.2, 0.3],
  lossReduction: 'sample_mean',
  temperature: 1,
};

/** Prompts that make the laptop model answer with a key and a value. */
export const PROMPTS = ['amber=47;\nanchor=11;\napple=83;\n', 'basket=05;\nbeacon=21;\nbirch=60;\n'].map((text) => [
  ...Buffer.from(text),
]);

/** Samples rows from the engine itself: what a rollout of its current weights would be. */
export async function sampleRows(engine: RunningEngine, step: number, samples = 4): Promise<TrainingRows> {
  const requests = PROMPTS.flatMap((prompt, index) =>
    Array.from({ length: samples }, (_, sample) => ({ prompt, index, sample }))
  );
  const { json } = await engine.post('/generate', {
    input_ids: requests.map(({ prompt }) => prompt),
    sampling_params: requests.map(({ index, sample }) => ({
      max_new_tokens: 6,
      temperature: 1,
      custom_params: { memagent_key: [1, step, index, sample, 0] },
    })),
    return_logprob: true,
  });
  const replies = json as Generated[];
  return rowsOf(
    replies.map((one, row) => ({
      tokens: [...requests[row]!.prompt, ...one.output_ids],
      logProbs: one.meta_info.output_token_logprobs.map(([logProb]) => logProb),
      // Any rule that differs between the samples will do: longer answers with lower ids are better.
      advantage: (one.output_ids[0]! % 7) - 3 + one.output_ids.length / 10,
      truncated: one.meta_info.finish_reason.type === 'length',
    }))
  );
}

interface RowFacts {
  tokens: number[];
  logProbs: number[];
  advantage: number;
  mask?: number[];
  truncated?: boolean;
}

export function rowsOf(rows: readonly RowFacts[]): TrainingRows {
  const indices = rows.map((_, index) => index);
  return {
    tokens: rows.map(({ tokens }) => tokens),
    response_lengths: rows.map(({ logProbs }) => logProbs.length),
    loss_masks: rows.map(({ mask, logProbs }) => mask ?? logProbs.map(() => 1)),
    rollout_log_probs: rows.map(({ logProbs }) => logProbs),
    rewards: rows.map(({ advantage }) => advantage),
    raw_reward: rows.map(({ advantage }) => (advantage > 0 ? 1 : 0)),
    truncated: rows.map(({ truncated }) => (truncated === true ? 1 : 0)),
    sample_indices: indices,
    trajectory_indices: indices,
    turn_indices: rows.map(() => 0),
    total_lengths: rows.map(({ tokens }) => tokens.length),
  };
}

/** Writes rows beside the engine and makes the call that trains on them. */
export async function trainCall(engine: RunningEngine, step: number, rows: TrainingRows): Promise<TrainCall> {
  const path = rowsPath(engine, step);
  await mkdir(join(engine.folder, 'rows'), { recursive: true });
  const { sha256 } = await writeRows(path, rows);
  return { step, expected_weights_version: step, rows: { path, sha256 }, hyper: HYPER };
}

export function rowsPath(engine: RunningEngine, step: number): string {
  return join(engine.folder, 'rows', `step-${step}.parquet`);
}

/** Samples and trains one step. */
export async function trainOnce(engine: RunningEngine, step: number): Promise<TrainCall> {
  const call = await trainCall(engine, step, await sampleRows(engine, step));
  await engine.client.trainStep(call);
  return call;
}

/** Saves a checkpoint and returns the hashes its manifest names: equal hashes are equal weights, moments and counters. */
export async function stateHashes(engine: RunningEngine, name: string): Promise<Record<string, string>> {
  const dir = join(engine.folder, 'probes', name);
  await engine.client.saveCheckpoint({ dir });
  const { files } = JSON.parse(readFileSync(join(dir, 'checkpoint.json'), 'utf8')) as {
    files: { name: string; sha256: string }[];
  };
  return Object.fromEntries(files.map((file) => [file.name, file.sha256]));
}
