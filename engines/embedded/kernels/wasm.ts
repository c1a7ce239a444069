type WasmFunction = (...values: (number | boolean)[]) => number;

/** Names exported by assembly/index.ts. */
const EXPORTS = [
  'gemm',
  'packRows',
  'packColumns',
  'rmsNormForward',
  'rmsNormBackward',
  'normRopeForward',
  'normRopeBackward',
  'swigluForward',
  'swigluBackward',
  'gatherRows',
  'scatterAddRows',
  'logSoftmax',
  'logSoftmaxBackward',
  'squareSum',
  'addInto',
  'adamw',
  'appendKeyValue',
  'attend',
  'attentionBackward',
] as const;
export type WasmKernels = Record<(typeof EXPORTS)[number], WasmFunction>;

/** Bytes at the start of the memory that belong to the compiled module's own tables. */
export const MODULE_BYTES = 65_536;

/**
 * Instantiates the compiled kernels over a memory.
 *
 * @throws Error naming the build command when the module is of another version
 */
export function instantiateKernels(module: WebAssembly.Module, memory: WebAssembly.Memory): WasmKernels {
  const abort = (): never => {
    throw new Error('the kernels module aborted');
  };
  const instance = new WebAssembly.Instance(module, { env: { memory, abort } });
  const missing = EXPORTS.filter((name) => typeof instance.exports[name] !== 'function');
  if (missing.length > 0)
    throw new Error(`kernels.wasm lacks ${missing.join(', ')}: run \`make build\` to compile it again`);
  return instance.exports as unknown as WasmKernels;
}
