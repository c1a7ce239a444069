import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { entryPath, packageRoot } from '../../../shared/runtime/entry.js';
import type { Kernels } from './kernels.js';
import { createReferenceKernels } from './reference/index.js';
import { SimdKernels } from './simd.js';
import { MODULE_BYTES } from './wasm.js';

const COMPILED = 'engines/embedded/kernels/kernels.wasm';
const PAGE_BYTES = 65_536;
/** Floats at the start of every heap that no buffer may use. */
export const RESERVED_FLOATS = MODULE_BYTES / 4;

let compiled: Promise<WebAssembly.Module> | undefined;

/** True when this machine's Node runs WebAssembly SIMD and `make build` has compiled the kernels. */
export function simdAvailable(): boolean {
  return existsSync(join(packageRoot(), 'dist', COMPILED)) && WebAssembly.validate(SIMD_PROBE);
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
 * @param scratch offset of `scratchFloats` floats of working memory
 * @throws PipelineError OutOfMemory when the heap cannot be had; Error naming the build command when kernels.wasm is missing
 */
export async function createKernels(kind: 'simd' | 'reference', floats: number, scratch: number): Promise<Kernels> {
  if (floats * 4 > MAX_BYTES) throw tooLarge(floats * 4);
  if (kind === 'reference') return createReferenceKernels(new ArrayBuffer(floats * 4));
  compiled ??= WebAssembly.compile(readFileSync(entryPath(COMPILED)));
  const module = await compiled;
  const pages = Math.ceil((floats * 4) / PAGE_BYTES);
  return new SimdKernels(module, reserve(pages), scratch);
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
