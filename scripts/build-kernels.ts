import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../shared/runtime/entry.js';

/**
 * Compiles the SIMD kernels (AssemblyScript) to WebAssembly. Plain SIMD only: relaxed multiply-add would give other bits on
 * other processors. Assertions are off; the memory comes from the caller.
 */
const root = packageRoot();
const source = join(root, 'engines/embedded/kernels/assembly/index.ts');
const target = join(root, 'dist/engines/embedded/kernels/kernels.wasm');
const options = [
  '-O3',
  '--noAssert',
  '--enable',
  'simd',
  '--enable',
  'bulk-memory',
  '--runtime',
  'stub',
  '--importMemory',
];

mkdirSync(dirname(target), { recursive: true });
const compiler = join(root, 'node_modules/assemblyscript/bin/asc.js');
execFileSync(process.execPath, [compiler, source, ...options, '-o', target], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
process.stdout.write(`kernels.wasm: ${statSync(target).size} bytes\n`);
