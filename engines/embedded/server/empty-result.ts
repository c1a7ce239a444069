import type { GenerationResult } from '../policy-api.js';

/** The result of a sequence that has no token yet. */
export function emptyResult(id: string, finish: GenerationResult['finish']): GenerationResult {
  return { id, outputIds: [], outputLogProbs: [], outputTop: [], promptLogProbs: [], promptTop: [], finish };
}
