import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseResult, CheckContext, Checker } from '../../../shared/conformance/types.js';
import type { GenerationRequest, GenerationResult, Policy } from '../policy-api.js';
import { type CaseNumber, compareNumber, compareNumbers } from './compare.js';
import { casePolicy, type KernelKind } from './case-models.js';

/** Advice of the cases for float32 engines. */
const LOGITS = { absolute: 2e-5 };
const LOG_PROBS = { absolute: 2e-5 };
const LSE = { absolute: 5e-6 };
const LOGPROB_SUM = { absolute: 2e-4 };

interface ForwardCases {
  sequences: {
    id: string;
    tokens: number[];
    next_logprob: number[];
    positions: number[];
    lse: number[];
    logits: number[][];
  }[];
  greedy: { prompt: number[]; tokens: number[]; logprob: number[] }[];
  temperature: { id: string; T: number; next_logprob: number[]; last_logprob_all: CaseNumber[] };
}

interface PackedCase {
  ids: string[];
  cu_seqlens: number[];
  segment_logprob_sum: number[];
}

function nextLogProbs(policy: Policy, sequences: readonly number[][], temperature = 1): Float32Array[] {
  return policy.logProbs(
    sequences.map((tokens) => ({ tokens, responseLength: tokens.length - 1 })),
    temperature
  );
}

/** log Σ exp of a row of logits, in double precision. */
function logSumExp(logits: Float32Array): number {
  const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  return top + Math.log(logits.reduce((sum, value) => sum + Math.exp(value - top), 0));
}

function checkSequence(policy: Policy, expected: ForwardCases['sequences'][number]): string[] {
  const vocab = policy.config.vocabSize;
  const logits = policy.logits(expected.tokens);
  const lines = compareNumbers(
    'next_logprob',
    nextLogProbs(policy, [expected.tokens])[0]!,
    expected.next_logprob,
    LOG_PROBS
  );
  expected.positions.forEach((position, i) => {
    const row = logits.subarray(position * vocab, (position + 1) * vocab);
    lines.push(...compareNumbers(`logits at ${position}`, row, expected.logits[i]!, LOGITS));
    lines.push(...compareNumber(`lse at ${position}`, logSumExp(row), expected.lse[i]!, LSE));
  });
  return lines;
}

function greedyRequest(promptIds: number[], maxNewTokens: number): GenerationRequest {
  return {
    id: 'case',
    promptIds,
    maxNewTokens,
    temperature: 0,
    topP: 1,
    topK: -1,
    stopTokenIds: [],
    samplingKey: { seed: 0, rolloutId: 0, prompt: 0, sample: 0, turn: 0 },
    topLogProbs: 0,
    promptLogProbsFrom: -1,
  };
}

/** Runs one request to its end. */
export function generateOne(policy: Policy, request: GenerationRequest): GenerationResult {
  policy.generator.submit(request);
  for (;;) {
    const [result] = policy.generator.advance();
    if (result !== undefined) return result;
  }
}

function checkGreedy(policy: Policy, expected: ForwardCases['greedy'][number]): string[] {
  const result = generateOne(policy, greedyRequest(expected.prompt, expected.tokens.length));
  const lines = compareNumbers('logprob', result.outputLogProbs, expected.logprob, LOG_PROBS);
  if (result.outputIds.join() !== expected.tokens.join())
    lines.push(`tokens: expected ${expected.tokens.join()}, got ${result.outputIds.join()}`);
  return lines;
}

function checkTemperature(policy: Policy, cases: ForwardCases): string[] {
  const { id, T, next_logprob: next, last_logprob_all: last } = cases.temperature;
  const { tokens } = cases.sequences.find((sequence) => sequence.id === id)!;
  const lines = compareNumbers('next_logprob', nextLogProbs(policy, [tokens], T)[0]!, next, LOG_PROBS);
  // The distribution after the last token: one more scored token for every id.
  const rows = last.map((_, token) => ({ tokens: [...tokens, token], responseLength: 1 }));
  const all = policy.logProbs(rows, T).map(([value]) => value!);
  return [...lines, ...compareNumbers('last_logprob_all', all, last, LOG_PROBS)];
}

/** `forward.json`: logits, log-probs, greedy decoding with a key/value cache, temperature. */
export function forwardChecker(kernels?: KernelKind): Checker {
  return {
    file: 'policy/forward.json',
    check: async (_cases, { document, directory }: CheckContext) => {
      const results: CaseResult[] = [];
      for (const [model, cases] of Object.entries(document['models'] as Record<string, ForwardCases>)) {
        const policy = await casePolicy(directory, model, kernels);
        for (const sequence of cases.sequences)
          results.push({ id: `${model} ${sequence.id}`, differences: checkSequence(policy, sequence) });
        cases.greedy.forEach((greedy, i) =>
          results.push({ id: `${model} greedy ${i}`, differences: checkGreedy(policy, greedy) })
        );
        results.push({ id: `${model} temperature`, differences: checkTemperature(policy, cases) });
      }
      return results;
    },
  };
}

/** `packed.json`: sequences packed together give the log-probs of each alone. */
export function packedChecker(kernels?: KernelKind): Checker {
  return {
    file: 'policy/packed.json',
    check: async (_cases, { document, directory }: CheckContext) => {
      const forward = await readForward(directory);
      const results: CaseResult[] = [];
      for (const [model, packs] of Object.entries(document['models'] as Record<string, PackedCase[]>)) {
        const policy = await casePolicy(directory, model, kernels);
        for (const pack of packs)
          results.push({
            id: `${model} ${pack.ids.join('+')}`,
            differences: checkPack(policy, pack, forward[model]!),
          });
      }
      return results;
    },
  };
}

async function readForward(directory: string): Promise<Record<string, ForwardCases>> {
  const document = JSON.parse(await readFile(join(directory, 'forward.json'), 'utf8')) as {
    models: Record<string, ForwardCases>;
  };
  return document.models;
}

function checkPack(policy: Policy, pack: PackedCase, forward: ForwardCases): string[] {
  const sequences = pack.ids.map((id) => forward.sequences.find((sequence) => sequence.id === id)!);
  const logProbs = nextLogProbs(
    policy,
    sequences.map(({ tokens }) => tokens)
  );
  return sequences.flatMap((sequence, i) => {
    const sum = logProbs[i]!.reduce((a, b) => a + b, 0);
    return [
      ...compareNumbers(`segment ${i}`, logProbs[i]!, sequence.next_logprob, LOG_PROBS),
      ...compareNumber(`sum of segment ${i}`, sum, pack.segment_logprob_sum[i]!, LOGPROB_SUM),
    ];
  });
}
