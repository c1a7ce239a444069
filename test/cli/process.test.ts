import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';
import { nextFreePort } from '../../shared/runtime/ports.js';

vi.setConfig({ testTimeout: 180_000 });

const MAIN = entryPath('cli/main.js');
const LAPTOP = join(packageRoot(), 'recipes', 'laptop.json');

describe('the memagent program', () => {
  it.each([
    [['recipe', 'check', LAPTOP], 0],
    [['--version'], 0],
    [['recipe', 'check', 'package.json'], 1],
    [['no-such-command'], 2],
    [['start', 'no-such-recipe.json'], 2],
  ])('%j ends with exit code %i', async (args, code) => {
    const result = await runProgram(process.execPath, [MAIN, ...args], { timeoutMs: 60_000 });
    expect(result.code, result.output).toBe(code);
    expect(result.output).not.toMatch(/\n\s+at /);
  });

  it('ends with one screen and code 1 when no server answers', async () => {
    const port = await nextFreePort(18_000);
    const env = { ...process.env, TEMPORAL_ADDRESS: `127.0.0.1:${port}` };
    for (const args of [
      ['status', 'run'],
      ['start', LAPTOP],
      ['worker', '--role', 'all'],
      ['cancel', 'run'],
    ]) {
      const result = await runProgram(process.execPath, [MAIN, ...args], { env, timeoutMs: 60_000 });
      expect(result.code).toBe(1);
      expect(result.output).toMatch(
        /^error: no Temporal server answers at 127\.0\.0\.1:\d+ \(connection refused\)\nfix: .*\n$/
      );
    }
  });

  it('takes a reader that has seen enough for no error', async () => {
    const result = await runProgram('/bin/sh', ['-c', `"${process.execPath}" "${MAIN}" recipe schema | head -1`], {
      timeoutMs: 60_000,
    });
    expect(result).toMatchObject({ code: 0, output: '{\n' });
  });
});
