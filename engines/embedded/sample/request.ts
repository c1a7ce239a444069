import type { GenerationRequest, GenerationResult, Qwen3Config, TopLogProb } from '../policy-api.js';
import { samplingKeyProblem } from './random.js';
import type { Slot } from './slots.js';

/** A request being worked on. */
export interface Sequence {
  request: GenerationRequest;
  stop: ReadonlySet<number>;
  /** Prompt, then output. */
  tokens: number[];
  slot: Slot | null;
  logProbs: number[];
  top: TopLogProb[][];
  promptLogProbs: (number | null)[];
  promptTop: (TopLogProb[] | null)[];
  finish: GenerationResult['finish'] | null;
}

export function startSequence(request: GenerationRequest): Sequence {
  return {
    request,
    stop: new Set(request.stopTokenIds),
    tokens: [...request.promptIds],
    slot: null,
    logProbs: [],
    top: [],
    promptLogProbs: [],
    promptTop: [],
    finish: null,
  };
}

export function sequenceResult(sequence: Sequence): GenerationResult {
  return {
    id: sequence.request.id,
    outputIds: sequence.tokens.slice(sequence.request.promptIds.length),
    outputLogProbs: sequence.logProbs,
    outputTop: sequence.top,
    promptLogProbs: sequence.promptLogProbs,
    promptTop: sequence.promptTop,
    finish: sequence.finish ?? { type: 'abort' },
  };
}

/** What is wrong with a request, in one sentence, or null. */
export function requestProblem(request: GenerationRequest, config: Qwen3Config, maxSequence: number): string | null {
  const { promptIds, maxNewTokens, temperature, topP, topK, topLogProbs } = request;
  if (promptIds.length === 0) return 'the prompt has no token';
  const room = maxNewTokens > 0 ? maxSequence - 1 : maxSequence;
  if (promptIds.length > room)
    return `the prompt has ${promptIds.length} tokens, the context allows ${room} (${maxSequence} with the answer)`;
  const bad = promptIds.find((id) => !Number.isInteger(id) || id < 0 || id >= config.vocabSize);
  if (bad !== undefined) return `token id ${bad} is outside the vocabulary of ${config.vocabSize}`;
  if (!Number.isInteger(maxNewTokens) || maxNewTokens < 0)
    return `max_new_tokens ${maxNewTokens} is not an integer ≥ 0`;
  if (!Number.isFinite(temperature) || temperature < 0) return `temperature ${temperature} is not a number ≥ 0`;
  if (!(topP > 0 && topP <= 1)) return `top_p ${topP} is not in (0, 1]`;
  if (!Number.isInteger(topK) || (topK < 1 && topK !== -1)) return `top_k ${topK} is neither −1 nor an integer ≥ 1`;
  if (!Number.isInteger(topLogProbs) || topLogProbs < 0) return `top_logprobs_num ${topLogProbs} is not an integer ≥ 0`;
  return samplingKeyProblem(request.samplingKey);
}
