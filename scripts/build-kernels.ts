import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../shared/runtime/entry.js';

/**
 * Compiles the SIMD kernels (AssemblyScript) to WebAssembly, twice: plain SIMD, whose bits are the same on every machine, and with
 * fused multiply-add in the matrix product, whose bits are not. Assertions are off; the memory comes from the caller; names of
 * functions stay, for stack traces and profiles.
 */
const root = packageRoot();
const source = join(root, 'engines/embedded/kernels/assembly/index.ts');
const folder = join(root, 'dist/engines/embedded/kernels');
const compiler = join(root, 'node_modules/assemblyscript/bin/asc.js');
const options = ['-O3', '--noAssert', '--debug', '--runtime', 'stub', '--importMemory'];

function compile(name: string, features: readonly string[]): void {
  const target = join(folder, name);
  const enabled = features.flatMap((feature) => ['--enable', feature]);
  execFileSync(process.execPath, [compiler, source, ...options, ...enabled, '-o', target], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  process.stdout.write(`${name}: ${statSync(target).size} bytes\n`);
}

mkdirSync(folder, { recursive: true });
compile('kernels.wasm', ['simd', 'bulk-memory']);
compile('kernels-fused.wasm', ['simd', 'bulk-memory', 'relaxed-simd']);
