import { createHash } from 'node:crypto';
import type { SamplingKey } from '../policy-api.js';
import { samplingKeyProblem } from '../sample/random.js';
import { RequestError } from './request-error.js';

/** Name of our entry in `custom_params`, which a real SGLang ignores. */
export const SAMPLING_KEY_PARAM = 'memagent_key';

const FORM = `custom_params.${SAMPLING_KEY_PARAM} must be five integers: seed, rollout id, prompt, sample, turn`;

/**
 * The name of a request's random numbers: our own entry of `custom_params`, else made from `sampling_seed`, else from the request
 * id, so that any client gets repeatable tokens when it names its requests.
 *
 * @param sample number of the sample among `n` of one prompt
 * @throws RequestError 400
 */
export function samplingKey(
  customParams: unknown,
  samplingSeed: unknown,
  requestId: string,
  sample: number
): SamplingKey {
  const own =
    typeof customParams === 'object' && customParams !== null
      ? (customParams as Record<string, unknown>)[SAMPLING_KEY_PARAM]
      : undefined;
  const key = own === undefined ? derivedKey(samplingSeed, requestId, sample) : givenKey(own, sample);
  const problem = samplingKeyProblem(key);
  if (problem !== null) throw new RequestError(400, `${FORM}; ${problem}`);
  return key;
}

function givenKey(value: unknown, sample: number): SamplingKey {
  if (!Array.isArray(value) || value.length !== 5 || !value.every((word) => typeof word === 'number'))
    throw new RequestError(400, FORM);
  const [seed, rolloutId, prompt, first, turn] = value as [number, number, number, number, number];
  return { seed, rolloutId, prompt, sample: first + sample, turn };
}

function derivedKey(samplingSeed: unknown, requestId: string, sample: number): SamplingKey {
  if (samplingSeed !== undefined && samplingSeed !== null) {
    if (!Number.isSafeInteger(samplingSeed) || (samplingSeed as number) < 0)
      throw new RequestError(400, 'sampling_seed must be an integer of at least 0.');
    return { seed: samplingSeed as number, rolloutId: 0, prompt: 0, sample, turn: 0 };
  }
  const digest = createHash('sha256').update(requestId).digest();
  const [seed, rolloutId, prompt] = [0, 4, 8].map((at) => digest.readUInt32LE(at)) as [number, number, number];
  return { seed, rolloutId, prompt, sample, turn: 0 };
}
