import type { CaseResult, Checker } from '../../../shared/conformance/types.js';
import { type Kernels, LOG_SOFTMAX_STATS } from '../kernels/kernels.js';
import { roundUp } from '../kernels/sizes.js';
import { createKernels, RESERVED_FLOATS, simdAvailable } from '../kernels/load.js';
import { logProbOf } from '../model/head.js';
import { type Candidates, candidateBuffer, filterCandidates } from '../sample/filters.js';
import type { KernelKind } from './case-models.js';
import { type CaseNumber, compareNumber, compareNumbers, toNumber, type Tolerance } from './compare.js';

interface SamplingCase {
  T: number;
  top_p: number;
  top_k: number;
  n_kept: number;
  mass: number;
  probs: number[];
  p_last: number;
}

interface SamplingVector {
  name: string;
  logits: CaseNumber[];
  order: number[];
  logprobs: { ids: number[]; logprob_raw: CaseNumber[]; logprob_scaled: Record<string, CaseNumber[]> };
  cases: SamplingCase[];
}

/** Advice of the cases; two vectors have logits so large that dividing by the temperature already rounds. */
interface Tolerances {
  probability: Tolerance;
  mass: Tolerance;
  last: Tolerance;
  logProb: Tolerance;
}
const USUAL: Tolerances = {
  probability: { absolute: 1e-6 },
  mass: { absolute: 3e-6 },
  last: { absolute: 2e-6, relative: 2e-6 },
  logProb: { absolute: 2e-6, relative: 1e-6 },
};
const ROUNDED = { absolute: 1e-3, relative: 1e-6 };
const LOOSE: Tolerances = { probability: ROUNDED, mass: ROUNDED, last: ROUNDED, logProb: ROUNDED };
const LARGE_LOGITS = ['huge8', 'very_negative6'];

/** One vector of logits in a heap, with its softmax at a temperature. */
class LogitRow {
  readonly logits = RESERVED_FLOATS;
  readonly exps: number;
  readonly stats: number;
  private readonly ld: number;

  constructor(
    private readonly kernels: Kernels,
    readonly values: readonly number[]
  ) {
    this.ld = roundUp(values.length, 8);
    this.exps = this.logits + this.ld;
    this.stats = this.exps + this.ld;
  }

  softmax(temperature: number): void {
    this.kernels.heap.set(this.values, this.logits);
    const t = temperature === 0 ? 1 : temperature;
    this.kernels.logSoftmax(this.logits, this.ld, 1, this.values.length, t, this.exps, this.stats);
  }

  logProb(id: number, temperature: number): number {
    this.softmax(temperature);
    const { heap } = this.kernels;
    return logProbOf(heap[this.logits + id]!, temperature, heap[this.stats]!, heap[this.stats + 1]!);
  }

  filter({ T, top_p: topP, top_k: topK }: SamplingCase, out: Candidates): void {
    this.softmax(T);
    const { heap } = this.kernels;
    const options = { temperature: T, topP, topK };
    filterCandidates(heap, this.logits, heap, this.exps, this.values.length, options, out);
  }

  /** Σ exp over all ids. */
  total(): number {
    return 1 / this.kernels.heap[this.stats + 2]!;
  }
}

function checkCase(row: LogitRow, order: readonly number[], expected: SamplingCase, t: Tolerances): string[] {
  const kept = candidateBuffer(row.values.length);
  row.filter(expected, kept);
  const ids = Array.from(kept.ids.subarray(0, kept.count));
  if (ids.join() !== order.slice(0, expected.n_kept).join())
    return [`kept ids: expected ${order.slice(0, expected.n_kept).join()}, got ${ids.join()}`];
  const probs = Array.from(kept.weights.subarray(0, kept.count), (weight) => weight / kept.total);
  const mass = expected.T === 0 ? 1 : kept.total / row.total();
  return [
    ...compareNumber('mass', mass, expected.mass, t.mass),
    ...compareNumbers('probs', probs.slice(0, 12), expected.probs, t.probability),
    ...compareNumber('p_last', probs[probs.length - 1]!, expected.p_last, t.last),
  ];
}

function checkLogProbs(row: LogitRow, { logprobs }: SamplingVector, t: Tolerances): string[] {
  const at = (temperature: number): number[] => logprobs.ids.map((id) => row.logProb(id, temperature));
  const lines = compareNumbers('logprob_raw', at(1), logprobs.logprob_raw, t.logProb);
  for (const [temperature, expected] of Object.entries(logprobs.logprob_scaled))
    lines.push(...compareNumbers(`logprob_scaled ${temperature}`, at(Number(temperature)), expected, t.logProb));
  return lines;
}

/** `sampling.json`: temperature, top-k, top-p and log-probs of awkward distributions. */
export function samplingChecker(kernels?: KernelKind): Checker {
  return {
    file: 'policy/sampling.json',
    check: async (_cases, { document }) => {
      const kind = kernels ?? (simdAvailable() ? 'simd' : 'reference');
      const made = await createKernels(kind, RESERVED_FLOATS + 2048 + LOG_SOFTMAX_STATS, 0);
      return (document['vectors'] as SamplingVector[]).flatMap((vector): CaseResult[] => {
        const t = LARGE_LOGITS.includes(vector.name) ? LOOSE : USUAL;
        const row = new LogitRow(made, vector.logits.map(toNumber));
        return [
          { id: `${vector.name} logprobs`, differences: checkLogProbs(row, vector, t) },
          ...vector.cases.map((expected) => ({
            id: `${vector.name} T=${expected.T} top_p=${expected.top_p} top_k=${expected.top_k}`,
            differences: checkCase(row, vector.order, expected, t),
          })),
        ];
      });
    },
  };
}
