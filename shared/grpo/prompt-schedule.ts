import { PhiloxStream } from '../random/philox.js';

/** Distinguishes this use of the seed from every other stream of the package. */
const STREAM = 0x5348_5546;

/** Data rows in the order of one epoch: a permutation that depends on (seed, epoch) alone. */
function epochOrder(total: number, seed: number, epoch: number): Int32Array {
  const order = Array.from({ length: total }, (_, index) => index);
  return Int32Array.from(new PhiloxStream(seed, [STREAM, epoch, 0]).shuffle(order));
}

/**
 * Which data rows a step's prompts are. The data cursor is step × promptsPerStep: it is a function of the step, so that it
 * needs no state and a resumed run can neither skip nor repeat data. A step that crosses the end of an epoch goes on with the
 * next epoch's own permutation.
 *
 * @param step rollout id, from 0
 * @param total rows of the training set
 * @returns `promptsPerStep` row numbers
 */
export function promptRows(step: number, promptsPerStep: number, total: number, seed: number): number[] {
  if (total < 1) throw new RangeError('the training set has no rows');
  const rows: number[] = [];
  let epoch = -1;
  let order: Int32Array = new Int32Array(0);
  for (let position = step * promptsPerStep; rows.length < promptsPerStep; position += 1) {
    const needed = Math.floor(position / total);
    if (needed !== epoch) {
      epoch = needed;
      order = epochOrder(total, seed, epoch);
    }
    rows.push(order[position % total] as number);
  }
  return rows;
}
