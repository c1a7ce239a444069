import { parameterShapes } from '../../../../engines/embedded/model/parameters.js';
import { createPolicy } from '../../../../engines/embedded/policy.js';
import type {
  GenerationRequest,
  GenerationResult,
  LossOptions,
  NamedTensor,
  OptimizerOptions,
  Policy,
  PolicyOptions,
  PolicyRow,
  Qwen3Config,
} from '../../../../engines/embedded/policy-api.js';
import { PhiloxStream } from '../../../../shared/random/philox.js';

/** A small shape with everything unequal: hidden ≠ heads · headDim, grouped queries, vocabulary no multiple of 8. */
export const TINY: Qwen3Config = {
  vocabSize: 37,
  hiddenSize: 20,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 12,
  intermediateSize: 28,
  ropeTheta: 10_000,
  rmsNormEps: 1e-6,
  tied: true,
  maxPositions: 96,
};

/** Random weights: matrices N(0, scale²), norms around 1. */
export function randomTensors(config: Qwen3Config, seed: number, scale = 0.3): NamedTensor[] {
  const random = new PhiloxStream(seed);
  return parameterShapes(config).map(({ name, shape }) => {
    const length = shape.reduce((a, b) => a * b, 1);
    const draw = (): number => (shape.length === 1 ? 1 + 0.2 * random.nextNormal() : scale * random.nextNormal());
    return { name, shape, data: Float32Array.from({ length }, draw) };
  });
}

/** A policy with random weights. */
export function tinyPolicy(options: Partial<PolicyOptions> & { seed?: number } = {}): Promise<Policy> {
  const { seed = 1, config = TINY, ...rest } = options;
  return createPolicy({ config, tensors: randomTensors(config, seed), maxBatch: 8, ...rest });
}

export function randomTokens(random: PhiloxStream, length: number, vocab = TINY.vocabSize): number[] {
  return Array.from({ length }, () => random.nextInt(vocab));
}

/** Rows with plausible old log-probs and a few masked tokens. */
export function randomRows(policy: Policy, seed: number, count: number, maxPrompt = 20, maxResponse = 9): PolicyRow[] {
  const random = new PhiloxStream(seed, [1, 0, 0]);
  return Array.from({ length: count }, () => {
    const responseLength = 1 + random.nextInt(maxResponse);
    const tokens = randomTokens(random, 1 + random.nextInt(maxPrompt) + responseLength, policy.config.vocabSize);
    const [now] = policy.logProbs([{ tokens, responseLength }], 1);
    const near = (spread: number): number[] => Array.from(now!, (value) => value + spread * random.nextNormal());
    const lossMask = Array.from({ length: responseLength }, () => (random.nextInt(5) === 0 ? 0 : 1));
    return {
      tokens,
      responseLength,
      lossMask,
      oldLogProbs: near(0.1),
      refLogProbs: near(0.3),
      advantage: random.nextNormal(),
    };
  });
}

export const LOSS: LossOptions = {
  clipLow: 0.2,
  clipHigh: 0.3,
  klCoefficient: 0.001,
  temperature: 1,
  reduction: 'sample_mean',
};

export const OPTIMIZER: OptimizerOptions = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0.1,
  gradientClip: 1,
};

export function request(id: string, promptIds: number[], more: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    id,
    promptIds,
    maxNewTokens: 12,
    temperature: 1,
    topP: 1,
    topK: -1,
    stopTokenIds: [],
    samplingKey: { seed: 7, rolloutId: 3, prompt: Number(id.replace(/\D/g, '') || 0), sample: 0, turn: 0 },
    topLogProbs: 0,
    promptLogProbsFrom: -1,
    ...more,
  };
}

/** Submits all and advances until nothing is left. */
export function generate(policy: Policy, requests: readonly GenerationRequest[]): Map<string, GenerationResult> {
  for (const one of requests) policy.generator.submit(one);
  const results = new Map<string, GenerationResult>();
  while (policy.generator.hasWork()) for (const result of policy.generator.advance()) results.set(result.id, result);
  return results;
}

/** 40 requests of many lengths; groups of four share a prompt, as the samples of a group do. */
export function requests(count = 40): ReturnType<typeof request>[] {
  const random = new PhiloxStream(5);
  let prompt: number[] = [];
  return Array.from({ length: count }, (_, i) => {
    if (i % 4 === 0) prompt = randomTokens(random, 1 + random.nextInt(60));
    const sampled = { temperature: [1, 0.7, 0, 1.3][i % 4]!, topP: i % 3 === 0 ? 0.9 : 1, topK: i % 5 === 0 ? 6 : -1 };
    return request(`r${i}`, prompt, { ...sampled, maxNewTokens: 1 + (i % 17), topLogProbs: 3 });
  });
}

function fingerprint(result: GenerationResult): string {
  const top = result.outputTop.map((list) => list.map(({ id, logProb }) => `${id}:${bits([logProb])}`).join());
  return [result.outputIds.join(), bits(result.outputLogProbs), top.join(';'), JSON.stringify(result.finish)].join('|');
}

/** Exact results by id, short enough to print. */
export function fingerprints(results: ReadonlyMap<string, GenerationResult>): Record<string, string> {
  return Object.fromEntries([...results].sort().map(([id, result]) => [id, fingerprint(result)]));
}

/** Exact bits of a float array, so that a comparison fails on any difference and prints little. */
export function bits(values: ArrayLike<number>): string {
  return Buffer.from(Float32Array.from(values).buffer).toString('hex');
}

/** Bits of all tensors. */
export function tensorBits(tensors: readonly NamedTensor[]): string {
  return tensors.map(({ name, data }) => `${name}=${bits(data)}`).join('\n');
}
