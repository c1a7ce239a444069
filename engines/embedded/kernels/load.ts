import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { entryPath, packageRoot } from '../../../shared/runtime/entry.js';
import type { KernelKind, Kernels } from './kernels.js';
import { createReferenceKernels } from './reference/index.js';
import { SimdKernels } from './simd.js';
import { MODULE_BYTES } from './wasm.js';

type CompiledKind = Exclude<KernelKind, 'reference'>;

/** Written by `make build`. */
const COMPILED: Record<CompiledKind, string> = {
  simd: 'engines/embedded/kernels/kernels.wasm',
  'simd-fused': 'engines/embedded/kernels/kernels-fused.wasm',
};
const PAGE_BYTES = 65_536;
/** Floats at the start of every heap that no buffer may use. */
export const RESERVED_FLOATS = MODULE_BYTES / 4;

const compiled = new Map<CompiledKind, Promise<WebAssembly.Module>>();

/** True when this machine's Node runs WebAssembly SIMD and `make build` has compiled the kernels. */
export function simdAvailable(): boolean {
  return existsSync(join(packageRoot(), 'dist', COMPILED.simd)) && WebAssembly.validate(SIMD_PROBE);
}

/** A function that returns i8x16.splat(0) reduced to a number: valid only where SIMD is. */
const SIMD_PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

/** Most bytes of a 32-bit WebAssembly memory. */
const MAX_BYTES = 2 ** 32;

/**
 * Makes kernels with a heap of `floats` numbers, zero at first. The heap never grows afterwards.
 *
 * @param kind `simd-fused` rounds once a multiply-add: other bits, the same only on processors that have the instruction
 * @param scratch offset of `scratchFloats` floats of working memory
 * @throws PipelineError OutOfMemory when the heap cannot be had; Error naming the build command when kernels.wasm is missing
 */
export async function createKernels(kind: KernelKind, floats: number, scratch: number): Promise<Kernels> {
  if (floats * 4 > MAX_BYTES) throw tooLarge(floats * 4);
  if (kind === 'reference') return createReferenceKernels(new ArrayBuffer(floats * 4));
  const module = await compiledKernels(kind);
  const pages = Math.ceil((floats * 4) / PAGE_BYTES);
  return new SimdKernels(kind, module, reserve(pages), scratch);
}

function compiledKernels(kind: CompiledKind): Promise<WebAssembly.Module> {
  const known = compiled.get(kind);
  if (known !== undefined) return known;
  // Node 20 has fused multiply-add ("relaxed SIMD") behind this flag, later ones always have it.
  if (kind === 'simd-fused') setFlagsFromString('--experimental-wasm-relaxed-simd');
  const module = WebAssembly.compile(readFileSync(entryPath(COMPILED[kind])));
  compiled.set(kind, module);
  return module;
}

function reserve(pages: number): WebAssembly.Memory {
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages });
  } catch (error) {
    throw tooLarge(pages * PAGE_BYTES, error);
  }
}

function tooLarge(bytes: number, cause?: unknown): PipelineError {
  const gigabytes = (bytes / 2 ** 30).toFixed(1);
  return new PipelineError(
    'OutOfMemory',
    `the policy needs ${gigabytes} GiB in one piece: lower its longest sequence or its batch size (the engine is for small models)`,
    {},
    { cause }
  );
}
