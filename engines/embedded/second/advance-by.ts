import type { GenerationResult, Generator, OnToken } from '../policy-api.js';

/** Advances a generator by so many tokens, fewer when it has nothing left to do. */
export function advanceBy(generator: Generator, steps: number, onToken?: OnToken): GenerationResult[] {
  const results = generator.advance(onToken);
  for (let step = 1; step < steps && generator.hasWork(); step += 1) results.push(...generator.advance(onToken));
  return results;
}
