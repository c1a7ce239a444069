import { setMaxListeners } from 'node:events';
import PQueue from 'p-queue';
import type { DatasetRow } from '../shared/contracts/dataset.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Flavour, MemoryLimits, Trajectory } from '../shared/contracts/trajectory.js';
import type { InferenceClient } from '../shared/inference/types.js';
import { prepareContext } from '../shared/memory/chunking.js';
import { questionOf } from '../shared/memory/prompts.js';
import { runTrajectory } from '../shared/memory/recurrent-loop.js';
import type { GenerateTurn, RecurrentResult } from '../shared/memory/types.js';
import { scoreTrajectory } from '../shared/scoring/reward.js';
import type { Tokenizer } from '../shared/tokenizer/types.js';

/** Times a trajectory that ended in an error of its own (no response token, over a cap) is sampled anew before the step fails. */
const RESAMPLES = 3;

/** Keeps a resampled trajectory's random numbers apart from every first try: the recipe allows fewer samples of a prompt. */
const RESAMPLE_STRIDE = 4_096;

export interface RolloutBatch {
  /** Rollout id. */
  step: number;
  /** One data row a prompt (group). */
  rows: readonly DatasetRow[];
  groupSize: number;
  flavour: Flavour;
  limits: MemoryLimits;
  enableThinking: boolean | null;
  /** Ablation: no turn sees the memory of the turns before. */
  emptyMemory: boolean;
  temperature: number;
  topP: number;
  /** Seed of the sampler's key. */
  seed: number;
  /** Trajectories in flight at once. */
  concurrency: number;
  /** Weights the replies must come from; another version's reply is refused. */
  weightsVersion: string;
}

export interface RolloutDeps {
  client: InferenceClient;
  tokenizer: Tokenizer;
  signal: AbortSignal;
  onProgress(done: number, total: number): void;
}

export interface RolloutOutcome {
  trajectories: Trajectory[];
  promptTokens: number;
  sampledTokens: number;
}

/**
 * Generates all trajectories of one step, in the order group by group whatever finished first.
 *
 * @throws PipelineError GenerationFailed when a trajectory stays without a complete result, EngineUnavailable from the client
 */
export async function generateBatch(batch: RolloutBatch, deps: RolloutDeps): Promise<RolloutOutcome> {
  const queue = new PQueue({ concurrency: batch.concurrency });
  const total = batch.rows.length * batch.groupSize;
  const stop = new AbortController();
  const signal = AbortSignal.any([deps.signal, stop.signal]);
  setMaxListeners(0, signal);
  let done = 0;
  const tasks: Promise<Trajectory>[] = [];
  for (const [groupIndex, row] of batch.rows.entries()) {
    const context = prepareContext(deps.tokenizer, row.metadata.context, batch.limits);
    for (let sample = 0; sample < batch.groupSize; sample += 1) {
      const one = async (): Promise<Trajectory> => {
        const trajectory = await sampleOne(
          batch,
          { ...deps, signal },
          { row, groupIndex, sample, context: await context }
        );
        done += 1;
        deps.onProgress(done, total);
        return trajectory;
      };
      tasks.push(queue.add(one) as Promise<Trajectory>);
    }
  }
  try {
    const trajectories = await Promise.all(tasks);
    return { trajectories, ...countTokens(trajectories) };
  } catch (error) {
    // The rest of the step is of no use without this trajectory: do not keep the server busy with it.
    stop.abort(error);
    queue.clear();
    await Promise.allSettled(tasks);
    throw error;
  }
}

interface Prompt {
  row: DatasetRow;
  groupIndex: number;
  sample: number;
  context: Awaited<ReturnType<typeof prepareContext>>;
}

async function sampleOne(batch: RolloutBatch, deps: RolloutDeps, prompt: Prompt): Promise<Trajectory> {
  let last: RecurrentResult | undefined;
  for (let attempt = 0; attempt <= RESAMPLES; attempt += 1) {
    const result = await runTrajectory(
      {
        question: questionOf(batch.flavour, { prompt: prompt.row.prompt, question: prompt.row.metadata.question }),
        context: prompt.context,
        limits: batch.limits,
        flavour: batch.flavour,
        evaluation: false,
        enableThinking: batch.enableThinking,
        emptyMemory: batch.emptyMemory,
      },
      { tokenizer: deps.tokenizer, signal: deps.signal, generate: turnGenerator(batch, deps, prompt, attempt) }
    );
    if (result.status === 'completed' || result.status === 'truncated') return toTrajectory(batch, prompt, result);
    rethrowOutside(result, deps.signal);
    last = result;
  }
  const reason = last?.error instanceof Error ? last.error.message : String(last?.error ?? last?.status);
  throw new PipelineError(
    'GenerationFailed',
    `step ${batch.step}, prompt ${prompt.groupIndex}, sample ${prompt.sample}: no complete trajectory in ${RESAMPLES + 1} tries: ${reason}`
  );
}

/**
 * Errors of the server or of the connection are not the trajectory's: sampling it anew under another key would make the result
 * depend on luck. They end the step, whose repetition asks for the very same tokens.
 */
function rethrowOutside(result: RecurrentResult, signal: AbortSignal): void {
  signal.throwIfAborted();
  if (result.error instanceof PipelineError) throw result.error;
}

function turnGenerator(batch: RolloutBatch, deps: RolloutDeps, prompt: Prompt, attempt: number): GenerateTurn {
  const sample = prompt.sample + attempt * RESAMPLE_STRIDE;
  return async (request) => {
    const reply = await deps.client.generate(
      {
        promptIds: request.promptIds,
        maxNewTokens: request.maxNewTokens,
        temperature: batch.temperature,
        topP: batch.topP,
        stopTokenIds: deps.tokenizer.eosTokenIds,
        wantLogProbs: true,
        samplingKey: [batch.seed, batch.step, prompt.groupIndex, sample, request.turnIndex],
      },
      { signal: deps.signal }
    );
    if (reply.outputIds === null)
      throw new PipelineError('GenerationFailed', 'the endpoint returns no token ids: it cannot be used for training');
    if (reply.weightsVersion !== batch.weightsVersion) {
      throw new PipelineError(
        'EngineUnavailable',
        `step ${batch.step}: a reply came from weights version ${reply.weightsVersion ?? '(not told)'}, expected ${batch.weightsVersion}`
      );
    }
    return { outputIds: reply.outputIds, logProbs: reply.logProbs, finish: reply.finish };
  };
}

function toTrajectory(batch: RolloutBatch, prompt: Prompt, result: RecurrentResult): Trajectory {
  const scored = scoreTrajectory(batch.flavour, {
    finalOutput: result.finalOutput,
    response: result.finalOutput,
    label: prompt.row.label,
    groundTruth: prompt.row.metadata.ground_truth,
  });
  return {
    groupIndex: prompt.groupIndex,
    index: prompt.groupIndex * batch.groupSize + prompt.sample,
    status: result.status,
    turns: result.turns,
    finalOutput: result.finalOutput,
    numChunks: result.numChunks,
    contextTruncated: result.contextTruncated,
    anyTurnTruncated: result.anyTurnTruncated,
    memoryTokenLengths: result.memoryTokenLengths,
    finalMemoryTokens: result.finalMemoryTokens,
    reward: scored.score,
    diagnostic: scored.diagnostic,
    prediction: scored.prediction,
    removeSample: false,
    memories: result.memories,
  };
}

function countTokens(trajectories: readonly Trajectory[]): { promptTokens: number; sampledTokens: number } {
  let promptTokens = 0;
  let sampledTokens = 0;
  for (const { turns } of trajectories) {
    for (const turn of turns) {
      sampledTokens += turn.responseLength;
      promptTokens += turn.tokens.length - turn.responseLength;
    }
  }
  return { promptTokens, sampledTokens };
}
