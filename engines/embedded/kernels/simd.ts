import type {
  AdamwArguments,
  AttentionBackwardArguments,
  AttentionShape,
  Heads,
  Kernels,
  Linear,
  Offset,
  RopeTable,
} from './kernels.js';
import { roundUp } from './sizes.js';
import { instantiateKernels, type WasmKernels } from './wasm.js';

/** The WebAssembly kernels behind the common interface. Offsets become byte addresses here. */
export class SimdKernels implements Kernels {
  readonly heap: Float32Array;
  readonly ints: Int32Array;
  private readonly wasm: WasmKernels;

  /** @param scratch working memory of `scratchFloats` floats */
  constructor(
    readonly kind: 'simd' | 'simd-fused',
    module: WebAssembly.Module,
    memory: WebAssembly.Memory,
    private readonly scratch: Offset
  ) {
    this.wasm = instantiateKernels(module, memory);
    this.heap = new Float32Array(memory.buffer);
    this.ints = new Int32Array(memory.buffer);
  }

  refreshLinear({ weight, inputs, outputs, forwardPanels, backwardPanels }: Linear): void {
    this.wasm.packColumns(weight * 4, inputs, outputs, inputs, forwardPanels * 4);
    this.wasm.packRows(weight * 4, inputs, outputs, inputs, backwardPanels * 4);
  }

  linearForward(
    { inputs, outputs, forwardPanels }: Linear,
    x: Offset,
    ldx: number,
    rows: number,
    y: Offset,
    ldy: number,
    accumulate: boolean
  ): void {
    const columns = roundUp(outputs, 4);
    const panel = inputs * 32;
    this.wasm.gemm(rows, columns, inputs, x * 4, ldx * 4, 4, forwardPanels * 4, panel, 32, y * 4, ldy * 4, accumulate);
  }

  linearBackwardInput(
    { inputs, outputs, backwardPanels }: Linear,
    dy: Offset,
    ldy: number,
    rows: number,
    dx: Offset,
    ldx: number,
    accumulate: boolean
  ): void {
    const panel = outputs * 32;
    this.wasm.gemm(
      rows,
      inputs,
      outputs,
      dy * 4,
      ldy * 4,
      4,
      backwardPanels * 4,
      panel,
      32,
      dx * 4,
      ldx * 4,
      accumulate
    );
  }

  linearBackwardWeight(
    { inputs, outputs }: Linear,
    dy: Offset,
    ldy: number,
    x: Offset,
    ldx: number,
    rows: number,
    gradient: Offset
  ): void {
    const panels = this.scratch * 4;
    this.wasm.packRows(x * 4, ldx, rows, inputs, panels);
    this.wasm.gemm(outputs, inputs, rows, dy * 4, 4, ldy * 4, panels, rows * 32, 32, gradient * 4, inputs * 4, true);
  }

  rmsNormForward(x: Offset, rows: number, width: number, weight: Offset, eps: number, y: Offset): void {
    this.wasm.rmsNormForward(x * 4, rows, width, weight * 4, eps, y * 4);
  }

  rmsNormBackward(
    x: Offset,
    rows: number,
    width: number,
    weight: Offset,
    eps: number,
    dy: Offset,
    dx: Offset,
    accumulate: boolean,
    dWeight: Offset
  ): void {
    this.wasm.rmsNormBackward(x * 4, rows, width, weight * 4, eps, dy * 4, dx * 4, accumulate, dWeight * 4);
  }

  normRopeForward(
    x: Offset,
    ldx: number,
    rows: number,
    { heads, headDim }: Heads,
    weight: Offset,
    eps: number,
    positions: Offset,
    { cos, sin }: RopeTable,
    y: Offset,
    ldy: number
  ): void {
    const [w, p, c, s] = [weight * 4, positions * 4, cos * 4, sin * 4];
    this.wasm.normRopeForward(x * 4, ldx, rows, heads, headDim, w, eps, p, c, s, y * 4, ldy);
  }

  normRopeBackward(
    x: Offset,
    ldx: number,
    rows: number,
    { heads, headDim }: Heads,
    weight: Offset,
    eps: number,
    positions: Offset,
    { cos, sin }: RopeTable,
    dy: Offset,
    lddy: number,
    dx: Offset,
    lddx: number,
    dWeight: Offset
  ): void {
    const [w, p, c, s] = [weight * 4, positions * 4, cos * 4, sin * 4];
    const gradients = [dy * 4, lddy, dx * 4, lddx, dWeight * 4];
    this.wasm.normRopeBackward(x * 4, ldx, rows, heads, headDim, w, eps, p, c, s, ...gradients);
  }

  appendKeyValue(
    { kvHeads, headDim }: AttentionShape,
    k: Offset,
    ldk: number,
    v: Offset,
    ldv: number,
    count: number,
    position: number,
    cache: Offset,
    capacity: number
  ): void {
    this.wasm.appendKeyValue(k * 4, ldk, v * 4, ldv, count, position, cache * 4, capacity, kvHeads, headDim);
  }

  copyKeyValue({ kvHeads, headDim }: AttentionShape, from: Offset, to: Offset, count: number, capacity: number): void {
    const wide = roundUp(headDim, 8);
    for (let head = 0; head < kvHeads; head += 1) {
      const base = head * capacity * (headDim + wide);
      const keyFloats = roundUp(count, 8) * headDim;
      this.heap.copyWithin(to + base, from + base, from + base + keyFloats);
      for (let panel = 0; panel < wide / 8; panel += 1) {
        const start = base + capacity * headDim + panel * capacity * 8;
        this.heap.copyWithin(to + start, from + start, from + start + count * 8);
      }
    }
  }

  attend(
    { heads, kvHeads, headDim }: AttentionShape,
    q: Offset,
    ldq: number,
    count: number,
    position: number,
    cache: Offset,
    capacity: number,
    out: Offset,
    ldOut: number
  ): void {
    const scale = 1 / Math.sqrt(headDim);
    const [from, keys, to, scratch] = [q * 4, cache * 4, out * 4, this.scratch * 4];
    this.wasm.attend(from, ldq, count, position, keys, capacity, heads, kvHeads, headDim, scale, to, ldOut, scratch);
  }

  attentionBackward({ heads, kvHeads, headDim }: AttentionShape, a: AttentionBackwardArguments): void {
    const inputs = [a.q * 4, a.ldq, a.k * 4, a.ldk, a.v * 4, a.ldv, a.dOut * 4, a.ldOut];
    const outputs = [a.dq * 4, a.dk * 4, a.dv * 4, a.length, a.length - a.count, a.count];
    const shape = [heads, kvHeads, headDim, 1 / Math.sqrt(headDim), this.scratch * 4];
    this.wasm.attentionBackward(...inputs, ...outputs, ...shape);
  }

  swigluForward(gateUp: Offset, rows: number, width: number, act: Offset): void {
    this.wasm.swigluForward(gateUp * 4, rows, width, act * 4);
  }

  swigluBackward(gateUp: Offset, rows: number, width: number, dAct: Offset): void {
    this.wasm.swigluBackward(gateUp * 4, rows, width, dAct * 4);
  }

  gatherRows(source: Offset, index: Offset, rows: number, width: number, target: Offset): void {
    this.wasm.gatherRows(source * 4, index * 4, rows, width, target * 4);
  }

  scatterAddRows(source: Offset, index: Offset, rows: number, width: number, target: Offset): void {
    this.wasm.scatterAddRows(source * 4, index * 4, rows, width, target * 4);
  }

  logSoftmax(
    logits: Offset,
    ld: number,
    rows: number,
    vocab: number,
    temperature: number,
    exps: Offset,
    stats: Offset
  ): void {
    this.wasm.logSoftmax(logits * 4, ld, rows, vocab, temperature, exps * 4, stats * 4);
  }

  logSoftmaxBackward(
    exps: Offset,
    ld: number,
    rows: number,
    temperature: number,
    stats: Offset,
    targets: Offset,
    coefficients: Offset
  ): void {
    this.wasm.logSoftmaxBackward(exps * 4, ld, rows, temperature, stats * 4, targets * 4, coefficients * 4);
  }

  squareSum(x: Offset, length: number): number {
    return this.wasm.squareSum(x * 4, length);
  }

  addInto(target: Offset, source: Offset, length: number): void {
    this.wasm.addInto(target * 4, source * 4, length);
  }

  adamw(a: AdamwArguments): void {
    const buffers = [a.parameter * 4, a.gradient * 4, a.first * 4, a.second * 4, a.length];
    const betas = [a.beta1, 1 - a.beta1, a.beta2, 1 - a.beta2];
    const corrections = [1 / (1 - a.beta1 ** a.step), 1 / (1 - a.beta2 ** a.step)];
    const rates = [a.clip, a.learningRate];
    this.wasm.adamw(...buffers, ...rates, ...betas, a.epsilon, a.learningRate * a.weightDecay, ...corrections);
  }
}
