import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Kernels, Linear } from '../../../../engines/embedded/kernels/kernels.js';
import {
  keyValueFloats,
  linearPanelFloats,
  roundUp,
  scratchFloats,
} from '../../../../engines/embedded/kernels/sizes.js';
import { createKernels, RESERVED_FLOATS } from '../../../../engines/embedded/kernels/load.js';
import { PhiloxStream } from '../../../../shared/random/philox.js';

const SCRATCH = scratchFloats({ rows: 64, widestInput: 64, sequence: 64, headDim: 32 });
const BASE = RESERVED_FLOATS + SCRATCH;
const FLOATS = BASE + 120_000;
let simd: Kernels;
let reference: Kernels;

beforeAll(async () => {
  simd = await createKernels('simd', FLOATS, RESERVED_FLOATS);
  reference = await createKernels('reference', FLOATS, RESERVED_FLOATS);
});

/** Fills both heaps with the same normal numbers. */
function fill(seed: number): void {
  const random = new PhiloxStream(seed);
  for (let i = BASE; i < FLOATS; i += 1) simd.heap[i] = random.nextNormal();
  reference.heap.set(simd.heap.subarray(BASE, FLOATS), BASE);
}

/** Runs the same operation on both; worst difference of a range, relative to its largest value (at least `floor`). */
function difference(run: (kernels: Kernels) => void, from: number, length: number, floor = 1e-6): number {
  run(simd);
  run(reference);
  let worst = 0;
  let largest = floor;
  for (let i = from; i < from + length; i += 1) {
    const [a, b] = [simd.heap[i]!, reference.heap[i]!];
    if (!Number.isFinite(a) || !Number.isFinite(b)) throw new Error(`number ${i - from} is not finite: ${a}, ${b}`);
    worst = Math.max(worst, Math.abs(a - b));
    largest = Math.max(largest, Math.abs(b));
  }
  return worst / largest;
}

const four = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max }).map((n) => 4 * n);
const rowsArbitrary = fc.integer({ min: 1, max: 23 });
const shape = fc.record({ rows: rowsArbitrary, inputs: four(12), outputs: four(12), seed: fc.nat(1000) });
const parameters = { numRuns: 25, seed: 11 };

/** x, y, gradient and a linear layer, one behind the other. */
function place({ inputs, outputs }: { inputs: number; outputs: number }): {
  linear: Linear;
  x: number;
  y: number;
  gradient: number;
} {
  const panels = linearPanelFloats(outputs, inputs);
  const weight = BASE;
  const forwardPanels = weight + roundUp(inputs * outputs, 16);
  const backwardPanels = forwardPanels + panels;
  const x = backwardPanels + panels;
  const y = x + 64 * 64;
  return { linear: { inputs, outputs, weight, forwardPanels, backwardPanels }, x, y, gradient: y + 64 * 64 };
}

describe('SIMD kernels against the reference', () => {
  it('linear layers: forward, input gradient and weight gradient have the same bits', () => {
    fc.assert(
      fc.property(shape, fc.boolean(), ({ rows, inputs, outputs, seed }, accumulate) => {
        fill(seed);
        const { linear, x, y, gradient } = place({ inputs, outputs });
        const run = (act: (k: Kernels) => void, from: number, count: number): void => {
          expect(difference(act, from, count)).toBe(0);
        };
        simd.refreshLinear(linear);
        run((k) => k.linearForward(linear, x, inputs, rows, y, outputs, accumulate), y, rows * outputs);
        run((k) => k.linearBackwardInput(linear, y, outputs, rows, x, inputs, accumulate), x, rows * inputs);
        run((k) => k.linearBackwardWeight(linear, y, outputs, x, inputs, rows, gradient), gradient, inputs * outputs);
      }),
      parameters
    );
  });

  it('RMSNorm, forward and backward', () => {
    fc.assert(
      fc.property(shape, fc.boolean(), ({ rows, inputs: width, seed }, accumulate) => {
        fill(seed);
        const [x, w, y, dx, dw] = [BASE, BASE + 4000, BASE + 8000, BASE + 12_000, BASE + 16_000];
        expect(difference((k) => k.rmsNormForward(x, rows, width, w, 1e-6, y), y, rows * width)).toBeLessThan(1e-6);
        const back = (k: Kernels): void => k.rmsNormBackward(x, rows, width, w, 1e-6, y, dx, accumulate, dw);
        expect(difference(back, dx, rows * width)).toBeLessThan(3e-6);
        expect(difference(() => undefined, dw, width)).toBeLessThan(3e-6);
      }),
      parameters
    );
  });

  it('norm with rotary embedding, forward and backward', () => {
    const heads = fc.record({ heads: fc.integer({ min: 1, max: 4 }), headDim: four(8) });
    fc.assert(
      fc.property(heads, rowsArbitrary, fc.nat(1000), (shapes, rows, seed) => {
        fill(seed);
        const width = shapes.heads * shapes.headDim;
        const [x, w, y, dy, dx, dw] = [0, 1, 2, 3, 4, 5].map((i) => BASE + 4000 * i) as [
          number,
          number,
          number,
          number,
          number,
          number,
        ];
        const positions = BASE + 30_000;
        const rope = { cos: BASE + 40_000, sin: BASE + 50_000 };
        for (let i = 0; i < rows; i += 1) simd.ints[positions + i] = reference.ints[positions + i] = (7 * i) % 64;
        const forward = (k: Kernels): void =>
          k.normRopeForward(x, width, rows, shapes, w, 1e-6, positions, rope, y, width);
        expect(difference(forward, y, rows * width)).toBeLessThan(1e-6);
        const backward = (k: Kernels): void =>
          k.normRopeBackward(x, width, rows, shapes, w, 1e-6, positions, rope, dy, width, dx, width, dw);
        expect(difference(backward, dx, rows * width)).toBeLessThan(5e-6);
        expect(difference(() => undefined, dw, shapes.headDim)).toBeLessThan(5e-6);
      }),
      parameters
    );
  });

  it('attention: caches, copies, and the backward', () => {
    const heads = fc.record({
      kvHeads: fc.integer({ min: 1, max: 2 }),
      group: fc.integer({ min: 1, max: 3 }),
      headDim: four(5),
      length: fc.integer({ min: 1, max: 45 }),
      part: fc.nat(100),
      seed: fc.nat(1000),
    });
    fc.assert(
      fc.property(heads, ({ kvHeads, group, headDim, length, part, seed }) => {
        fill(seed);
        const attention = { heads: kvHeads * group, kvHeads, headDim };
        const [q, kv] = [kvHeads * group * headDim, kvHeads * headDim];
        const at = (i: number): number => BASE + 6000 * i;
        const count = 1 + (part % length);
        const start = length - count;
        const cache = BASE + 60_000;
        const capacity = 48;
        const copy = cache + keyValueFloats(attention, capacity);
        const forward = (k: Kernels): void => {
          k.appendKeyValue(attention, at(1), kv, at(2), kv, start, 0, cache, capacity);
          k.copyKeyValue(attention, cache, copy, start, capacity);
          k.appendKeyValue(attention, at(1) + start * kv, kv, at(2) + start * kv, kv, count, start, copy, capacity);
          k.attend(attention, at(0), q, count, start, copy, capacity, at(3), q);
        };
        expect(difference(forward, at(3), count * q)).toBeLessThan(3e-6);
        const backward = (k: Kernels): void =>
          k.attentionBackward(attention, {
            q: at(0),
            ldq: q,
            k: at(1),
            ldk: kv,
            v: at(2),
            ldv: kv,
            dOut: at(4),
            ldOut: q,
            dq: at(5),
            dk: at(6),
            dv: at(7),
            length,
            count,
          });
        expect(difference(backward, at(5), count * q)).toBeLessThan(1e-5);
        expect(difference(() => undefined, at(6), length * kv)).toBeLessThan(1e-5);
        expect(difference(() => undefined, at(7), length * kv)).toBeLessThan(1e-5);
      }),
      parameters
    );
  });

  it('SwiGLU over the whole range of gates, forward and backward', () => {
    fill(5);
    const width = 64;
    for (let i = 0; i < 8 * 2 * width; i += 1) simd.heap[BASE + i]! *= 10 ** (i % 4) * 0.3;
    reference.heap.set(simd.heap.subarray(BASE, FLOATS), BASE);
    const act = BASE + 10_000;
    expect(difference((k) => k.swigluForward(BASE, 8, width, act), act, 8 * width)).toBeLessThan(1e-6);
    expect(difference((k) => k.swigluBackward(BASE, 8, width, act), BASE, 8 * 2 * width)).toBeLessThan(3e-6);
  });

  it('log-softmax and its backward, also with columns beyond the vocabulary and tiny probabilities', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 70 }), rowsArbitrary, fc.nat(1000), (vocab, rows, seed) => {
        fill(seed);
        const ld = roundUp(vocab, 8);
        const [logits, exps, stats, targets, coefficients] = [0, 1, 2, 3, 4].map((i) => BASE + 4000 * i) as [
          number,
          number,
          number,
          number,
          number,
        ];
        for (const k of [simd, reference]) for (let i = 0; i < rows * ld; i += 1) k.heap[logits + i]! *= 1 + (i % 30);
        for (let i = 0; i < rows; i += 1) simd.ints[targets + i] = reference.ints[targets + i] = i % vocab;
        const forward = (k: Kernels): void => k.logSoftmax(logits, ld, rows, vocab, 0.7, exps, stats);
        expect(difference(forward, exps, rows * ld)).toBeLessThan(3e-6);
        expect(difference(() => undefined, stats, rows * 4)).toBeLessThan(3e-6);
        const backward = (k: Kernels): void => k.logSoftmaxBackward(exps, ld, rows, 0.7, stats, targets, coefficients);
        // Where one token has all the probability its gradient is a difference of equal numbers: compare with 1.
        expect(difference(backward, exps, rows * ld, 1)).toBeLessThan(3e-6);
      }),
      parameters
    );
  });

  it('AdamW, norms and sums', () => {
    fill(9);
    const [p, g, m, v] = [BASE, BASE + 5000, BASE + 10_000, BASE + 15_000];
    for (const k of [simd, reference]) for (let i = 0; i < 4000; i += 1) k.heap[v + i] = Math.abs(k.heap[v + i]!);
    const args = { parameter: p, gradient: g, first: m, second: v, length: 4000, clip: 0.5, learningRate: 0.01 };
    const run = (k: Kernels): void =>
      k.adamw({ ...args, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.1, step: 3 });
    expect(difference(run, p, 4000)).toBeLessThan(1e-6);
    expect(difference(() => undefined, m, 9000)).toBeLessThan(1e-6);
    expect(simd.squareSum(p, 4000)).toBeCloseTo(reference.squareSum(p, 4000), 2);
    expect(difference((k) => k.addInto(p, g, 4000), p, 4000)).toBeLessThan(1e-6);
  });

  it('let NaN through, so that a broken number is noticed', () => {
    fill(2);
    const [logits, exps, stats] = [BASE, BASE + 1000, BASE + 2000];
    simd.heap[logits + 5] = NaN;
    simd.logSoftmax(logits, 16, 2, 16, 1, exps, stats);
    expect(simd.heap[stats + 1]).toBeNaN();
    expect(simd.heap[stats + 5]).not.toBeNaN();
    simd.heap[BASE + 3000] = NaN;
    simd.swigluForward(BASE + 3000, 1, 4, BASE + 4000);
    expect(simd.heap[BASE + 4000]).toBeNaN();
  });
});
