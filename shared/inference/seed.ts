import { philox4x32, philoxKey } from '../random/philox.js';
import type { GenerateRequest, SamplingKeyTuple } from './types.js';

/** A 31-bit seed from a sampling key, for servers that take one seed a request (2³² − 1 means "random" to llama.cpp). */
export function seedFromKey(key: SamplingKeyTuple): number {
  const [seed, rolloutId, prompt, sample, turn] = key;
  return philox4x32([rolloutId, prompt, sample, turn], philoxKey(seed))[0] >>> 1;
}

/** Seed of a request: its own, else one made from its sampling key, else none. */
export function requestSeed(request: GenerateRequest): number | undefined {
  if (request.seed !== undefined) return request.seed;
  return request.samplingKey === undefined ? undefined : seedFromKey(request.samplingKey);
}
