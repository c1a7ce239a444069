import { pyRepr, pyStr } from '../data/python/text.js';
import { pyGet, pyLength, type PyDict, type PyValue } from '../data/python/value.js';
import { pyInt } from '../literals/python-numbers.js';
import { reprList, turnField, valueError, type RawSample } from './samples.js';

/** Members every turn must have. */
const TURN_FIELDS = [
  'finish_reason',
  'kind',
  'loss_mask',
  'response_length',
  'rollout_log_probs',
  'tokens',
  'turn_index',
] as const;

const FINISH_REASONS = new Set<PyValue>(['completed', 'truncated']);
const UNTRAINABLE = new Set(['aborted', 'failed']);

/** Longest responses, in tokens. */
export interface ResponseLimits {
  memoryTokens: bigint;
  finalTokens: bigint;
}

/**
 * Checks a whole batch before anything is computed from it, and returns each sample's turns.
 *
 * @throws PythonError ValueError with the reference's text for the first fault: an aborted or failed sample, a missing group,
 *   turns that are missing, out of order, of the wrong kind, misaligned or longer than their cap, or unequal turn counts
 *   within a group
 */
export function validateBatch(samples: readonly RawSample[], limits: ResponseLimits): PyDict[][] {
  const turnsOfSamples: PyDict[][] = [];
  const countsByGroup = new Map<PyValue, Set<number>>();
  for (const sample of samples) {
    if (sample.groupIndex === null) throw valueError('MemAgent samples require group_index.');
    const turns = turnsOf(sample);
    validateTrajectory(sample, turns, limits);
    turnsOfSamples.push(turns);
    const counts = countsByGroup.get(sample.groupIndex) ?? new Set();
    countsByGroup.set(sample.groupIndex, counts.add(turns.length));
  }
  const unequal = [...countsByGroup].filter(([, counts]) => counts.size !== 1);
  if (unequal.length > 0) {
    const groups = unequal.map(([group, counts]) => {
      return `${pyRepr(group)}: {${[...counts].sort((a, b) => a - b).join(', ')}}`;
    });
    throw valueError(`MemAgent prompt groups have inconsistent turn counts: {${groups.join(', ')}}`);
  }
  return turnsOfSamples;
}

/** @throws PythonError ValueError naming the first sample that may not be trained on */
export function refuseUntrainable(samples: readonly RawSample[]): void {
  const refused = samples.find((sample) => UNTRAINABLE.has(sample.status));
  if (refused === undefined) return;
  throw valueError(`Cannot train from sample index=${pyStr(refused.index)} with status=${refused.status}.`);
}

function turnsOf(sample: RawSample): PyDict[] {
  if (!Array.isArray(sample.turns) || sample.turns.length === 0) {
    throw valueError(`Sample index=${pyStr(sample.index)} has no MemAgent turns.`);
  }
  return sample.turns as PyDict[];
}

function validateTrajectory(sample: RawSample, turns: readonly PyDict[], limits: ResponseLimits): void {
  const name = `Sample index=${pyStr(sample.index)}`;
  const indices = turns.map((turn) => pyInt(pyGet(turn, 'turn_index', -1n)));
  if (indices.some((index, at) => index !== BigInt(at))) {
    const wanted = turns.map((_, at) => BigInt(at));
    throw valueError(`${name} has non-contiguous turn indices: ${reprList(indices)}, expected ${reprList(wanted)}.`);
  }
  const kinds = turns.map((turn) => turn.get('kind'));
  if (kinds.at(-1) !== 'final' || kinds.slice(0, -1).some((kind) => kind !== 'memory')) {
    throw valueError(`${name} must contain memory turns followed by exactly one final turn.`);
  }
  for (const turn of turns) validateTurn(name, turn, limits);
}

function validateTurn(name: string, turn: PyDict, limits: ResponseLimits): void {
  const missing = TURN_FIELDS.filter((field) => !turn.has(field));
  if (missing.length > 0) throw valueError(`${name} turn is missing fields: ${pyRepr([...missing])}`);
  const finish = turnField(turn, 'finish_reason');
  if (!FINISH_REASONS.has(finish)) throw valueError(`${name} has invalid finish_reason=${pyRepr(finish)}.`);
  const kind = turnField(turn, 'kind') as 'memory' | 'final';
  const length = pyInt(turnField(turn, 'response_length'));
  if (length <= 0n || BigInt(pyLength(turnField(turn, 'tokens'))) < length) {
    throw valueError(`${name} has an invalid response_length.`);
  }
  const cap = kind === 'memory' ? limits.memoryTokens : limits.finalTokens;
  if (length > cap) throw valueError(`${name} ${kind} response_length=${length} exceeds ${cap}.`);
  if (BigInt(pyLength(turnField(turn, 'loss_mask'))) !== length) {
    throw valueError(`${name} has a misaligned loss_mask.`);
  }
  if (BigInt(pyLength(turnField(turn, 'rollout_log_probs'))) !== length) {
    throw valueError(`${name} has misaligned rollout_log_probs.`);
  }
}
