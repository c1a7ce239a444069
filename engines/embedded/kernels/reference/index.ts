import type { Kernels } from '../kernels.js';
import * as attention from './attention.js';
import * as linear from './linear.js';
import * as logSoftmax from './log-softmax.js';
import * as normRope from './norm-rope.js';
import * as optimizer from './optimizer.js';
import * as rmsNorm from './rms-norm.js';
import * as rows from './rows.js';
import * as swiglu from './swiglu.js';

/** The plain TypeScript kernels: what the SIMD kernels are compared with, and what runs where WebAssembly SIMD is missing. */
export function createReferenceKernels(buffer: ArrayBuffer): Kernels {
  const heap = new Float32Array(buffer);
  const ints = new Int32Array(buffer);
  return {
    kind: 'reference',
    heap,
    ints,
    refreshLinear: () => undefined,
    linearForward: (...args) => linear.linearForward(heap, ...args),
    linearBackwardInput: (...args) => linear.linearBackwardInput(heap, ...args),
    linearBackwardWeight: (...args) => linear.linearBackwardWeight(heap, ...args),
    rmsNormForward: (...args) => rmsNorm.rmsNormForward(heap, ...args),
    rmsNormBackward: (...args) => rmsNorm.rmsNormBackward(heap, ...args),
    normRopeForward: (...args) => normRope.normRopeForward(heap, ints, ...args),
    normRopeBackward: (...args) => normRope.normRopeBackward(heap, ints, ...args),
    appendKeyValue: (...args) => attention.appendKeyValue(heap, ...args),
    copyKeyValue: (...args) => attention.copyKeyValue(heap, ...args),
    attend: (...args) => attention.attend(heap, ...args),
    attentionBackward: (...args) => attention.attentionBackward(heap, ...args),
    swigluForward: (...args) => swiglu.swigluForward(heap, ...args),
    swigluBackward: (...args) => swiglu.swigluBackward(heap, ...args),
    gatherRows: (...args) => rows.gatherRows(heap, ints, ...args),
    scatterAddRows: (...args) => rows.scatterAddRows(heap, ints, ...args),
    logSoftmax: (...args) => logSoftmax.logSoftmax(heap, ...args),
    logSoftmaxBackward: (...args) => logSoftmax.logSoftmaxBackward(heap, ints, ...args),
    squareSum: (...args) => optimizer.squareSum(heap, ...args),
    addInto: (...args) => optimizer.addInto(heap, ...args),
    adamw: (...args) => optimizer.adamw(heap, ...args),
  };
}
