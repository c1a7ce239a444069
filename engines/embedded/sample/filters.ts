/** Ids that can be drawn, by falling logit (ties: lower id first), with weights proportional to their probability. */
export interface Candidates {
  ids: Int32Array;
  weights: Float64Array;
  count: number;
  /** Σ weights. */
  total: number;
  /** Room for the heap of ids. */
  heap: Int32Array;
}

export interface FilterOptions {
  temperature: number;
  /** 1 = off. */
  topP: number;
  /** −1 = off. */
  topK: number;
}

/** Room for the candidates of one vocabulary, used again for every token. */
export function candidateBuffer(vocab: number): Candidates {
  return {
    ids: new Int32Array(vocab),
    weights: new Float64Array(vocab),
    count: 0,
    total: 0,
    heap: new Int32Array(vocab),
  };
}

/** Lowest id with the largest logit. */
export function argmax(logits: ArrayLike<number>, from: number, vocab: number): number {
  let best = 0;
  for (let id = 1; id < vocab; id += 1) if (logits[from + id]! > logits[from + best]!) best = id;
  return best;
}

/**
 * Temperature, then top-k, softmax, top-p (a token stays while the probability before it is below p; the first always stays).
 * Exactly k by top-k: ties by lower id. Tokens of probability 0 are never kept. Temperature 0 keeps the argmax alone.
 * Work: O(vocab + kept · log vocab), by a heap.
 *
 * @param logits row at `logitsAt`, unscaled: they give the order
 * @param exps exp(logits / temperature − max) of the same row at `expsAt`
 */
export function filterCandidates(
  logits: Float32Array,
  logitsAt: number,
  exps: Float32Array,
  expsAt: number,
  vocab: number,
  options: FilterOptions,
  out: Candidates
): void {
  if (options.temperature === 0) {
    out.ids[0] = argmax(logits, logitsAt, vocab);
    out.weights[0] = 1;
    out.count = 1;
    out.total = 1;
    return;
  }
  const limit = options.topK > 0 ? Math.min(options.topK, vocab) : vocab;
  // The sum over all ids is rounded in another order than the running one: with p = 1 it must not end the list early.
  const cut = (total: number): number => (options.topP < 1 ? options.topP * total : Infinity);
  const whole = options.topK > 0 ? Infinity : sumRow(exps, expsAt, vocab);
  const heap = new LogitHeap(logits, logitsAt, out.heap);
  heap.fill(exps, expsAt, vocab, options.topK > 0 ? 0 : smallestUseful(whole, vocab, options.topP));
  takeLargest(heap, exps, expsAt, limit, cut(whole), out);
  if (options.topK > 0) cutTail(out, cut(out.total));
}

/**
 * Tokens with a smaller weight cannot be kept by top-p: all of them together weigh less than half of the tail that is cut.
 * (For a peaked distribution this leaves a handful of ids to order.)
 */
function smallestUseful(whole: number, vocab: number, topP: number): number {
  return (0.5 * (1 - topP) * whole) / vocab;
}

function sumRow(row: Float32Array, from: number, vocab: number): number {
  let sum = 0;
  for (let id = 0; id < vocab; id += 1) sum += row[from + id]!;
  return sum;
}

/** Moves ids from the heap to `out` while the weight before them is below `stop`. */
function takeLargest(
  heap: LogitHeap,
  exps: Float32Array,
  expsAt: number,
  limit: number,
  stop: number,
  out: Candidates
): void {
  let total = 0;
  let count = 0;
  while (count < limit && heap.size > 0 && (count === 0 || total < stop)) {
    const id = heap.pop();
    const weight = exps[expsAt + id]!;
    if (weight === 0 && count > 0) break;
    out.ids[count] = id;
    out.weights[count] = weight;
    total += weight;
    count += 1;
  }
  out.count = count;
  out.total = total;
}

/** Keeps tokens while the weight before them is below `stop`. */
function cutTail(out: Candidates, stop: number): void {
  let total = 0;
  let count = 0;
  while (count < out.count && (count === 0 || total < stop)) {
    total += out.weights[count]!;
    count += 1;
  }
  out.count = count;
  out.total = total;
}

/** Draws by the inverse of the cumulative weights. @param uniform in [0, 1) */
export function drawCandidate({ ids, weights, count, total }: Candidates, uniform: number): number {
  const wanted = uniform * total;
  let sum = 0;
  for (let i = 0; i < count; i += 1) {
    sum += weights[i]!;
    if (wanted < sum) return ids[i]!;
  }
  return ids[count - 1]!;
}

/** Ids between two remembered sums of `drawUnfiltered`. */
const BLOCK = 64;
/** Room for one sum a block; grows with the largest vocabulary. */
let sums = new Float64Array(16);

/** Draw from all tokens without a filter, cumulating by rising id. @param uniform in [0, 1) */
export function drawUnfiltered(exps: Float32Array, from: number, vocab: number, uniform: number): number {
  if (sums.length * BLOCK < vocab) sums = new Float64Array(Math.ceil(vocab / BLOCK));
  // One pass for the total, which remembers the sum before each block; then only one block is walked again.
  let sum = 0;
  for (let id = 0; id < vocab; id += 1) {
    if (id % BLOCK === 0) sums[id / BLOCK] = sum;
    sum += exps[from + id]!;
  }
  const wanted = uniform * sum;
  let block = Math.ceil(vocab / BLOCK) - 1;
  while (block > 0 && sums[block]! > wanted) block -= 1;
  sum = sums[block]!;
  for (let id = block * BLOCK; id < vocab; id += 1) {
    sum += exps[from + id]!;
    if (wanted < sum) return id;
  }
  // Rounding can leave `wanted` at the very end: the last token that is possible.
  let last = vocab - 1;
  while (last > 0 && exps[from + last] === 0) last -= 1;
  return last;
}

/** Binary heap of ids, largest logit on top, ties by lower id. */
class LogitHeap {
  size = 0;

  constructor(
    private readonly logits: Float32Array,
    private readonly from: number,
    private readonly ids: Int32Array
  ) {}

  /** Takes all ids whose weight is at least `least`. */
  fill(weights: Float32Array, weightsAt: number, vocab: number, least: number): void {
    for (let id = 0; id < vocab; id += 1) {
      if (weights[weightsAt + id]! < least) continue;
      this.ids[this.size] = id;
      this.size += 1;
    }
    for (let at = (this.size >> 1) - 1; at >= 0; at -= 1) this.sink(at);
  }

  /** Removes and returns the best id; the heap must not be empty. */
  pop(): number {
    const best = this.ids[0]!;
    this.size -= 1;
    this.ids[0] = this.ids[this.size]!;
    this.sink(0);
    return best;
  }

  private before(a: number, b: number): boolean {
    const x = this.logits[this.from + a]!;
    const y = this.logits[this.from + b]!;
    return x > y || (x === y && a < b);
  }

  private sink(start: number): void {
    const { ids, size } = this;
    const id = ids[start]!;
    let at = start;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.before(ids[child + 1]!, ids[child]!)) child += 1;
      if (this.before(id, ids[child]!)) break;
      ids[at] = ids[child]!;
      at = child;
    }
    ids[at] = id;
  }
}
