export { gemm } from './gemm';
export { packRows, packColumns } from './pack';
export { rmsNormForward, rmsNormBackward } from './rms-norm';
export { normRopeForward, normRopeBackward } from './norm-rope';
export { swigluForward, swigluBackward } from './swiglu';
export { gatherRows, scatterAddRows } from './rows';
export { logSoftmax, logSoftmaxBackward } from './log-softmax';
export { squareSum, addInto, adamw } from './optimizer';
export { appendKeyValue, attend, attentionBackward } from './attention';
