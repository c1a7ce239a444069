import { philox4x32, philoxKey, uniform53 } from '../../../shared/random/philox.js';
import type { SamplingKey } from '../policy-api.js';

const WORD = 0x1_0000_0000;
const HALF_WORD = 0x1_0000;

/** What is wrong with a sampling key, or null. Bounds are those of the words it is packed in. */
export function samplingKeyProblem(key: SamplingKey): string | null {
  const within = (value: number, limit: number): boolean => Number.isSafeInteger(value) && value >= 0 && value < limit;
  if (!within(key.seed, Number.MAX_SAFE_INTEGER)) return `seed ${key.seed} is not an integer from 0 to 2^53 − 2`;
  if (!within(key.rolloutId, WORD)) return `rolloutId ${key.rolloutId} is not an integer from 0 to 2^32 − 1`;
  if (!within(key.prompt, WORD)) return `prompt ${key.prompt} is not an integer from 0 to 2^32 − 1`;
  if (!within(key.sample, HALF_WORD)) return `sample ${key.sample} is not an integer from 0 to 65535`;
  if (!within(key.turn, HALF_WORD)) return `turn ${key.turn} is not an integer from 0 to 65535`;
  return null;
}

/**
 * The uniform number in [0, 1) of one token. Philox key = seed (low word, high word); counter = [rolloutId, prompt,
 * sample · 65536 + turn, position]. The mapping is injective: different (seed, rolloutId, prompt, sample, turn, position) never
 * share a block. `position` is the index of the new token within the response.
 */
export function tokenUniform(key: SamplingKey, position: number): number {
  const counter = [key.rolloutId, key.prompt, key.sample * HALF_WORD + key.turn, position] as [
    number,
    number,
    number,
    number,
  ];
  const [word0, word1] = philox4x32(counter, philoxKey(key.seed));
  return uniform53(word0, word1);
}
