import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { entryPath } from '../../shared/runtime/entry.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';

vi.setConfig({ testTimeout: 240_000 });

const MAIN = entryPath('scripts/study.js');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-study-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function study(...args: string[]) {
  const places = ['--root', join(folder, 'runs'), '--out', join(folder, 'docs')];
  return await runProgram(process.execPath, [MAIN, ...places, ...args], { timeoutMs: 200_000 });
}

describe('the study', () => {
  it.each([
    [['--seeds', '0'], 'error: --seeds takes a whole number from 1 on, got 0'],
    [['--only', 'seed-1234,nothing'], 'error: --only: no run is named “nothing”; known are seed-1234,'],
  ])('%j ends with one sentence', async (args, sentence) => {
    const { code, output } = await study(...args);
    expect(output).toContain(sentence);
    expect(output).not.toMatch(/\n\s+at /);
    expect(code).toBe(1);
  });

  it('runs real pipelines on a stack of its own, writes what they gave, and runs nothing twice', async () => {
    const tiny = ['--seeds', '1', '--steps', '2', '--items', '4', '--only', 'seed-1234,seed-1234-greedy'];
    const first = await study(...tiny);
    expect(first.output).toContain('seed-1234-greedy: done in');
    // Two steps teach nothing, and the goals say so.
    expect(first.output).toContain('NOT MET sampled evaluation above the base by at least 0.3 at every length');
    expect(first.code).toBe(1);

    const text = await readFile(join(folder, 'docs', 'learning.md'), 'utf8');
    expect(text).toMatch(/^\| 1234 \| vime \| – \| 0\.\d{3} \|/m);
    expect(text).toContain('## Greedy evaluation');
    expect(text).toContain('not in these tables: seed-1234-frozen, shuffled,');
    expect(await readFile(join(folder, 'docs', 'learning-seeds.svg'), 'utf8')).toMatch(/^<svg xmlns=/);

    const again = await study(...tiny);
    expect(again.output).toContain('2 of 2 runs are there already');
    expect(again.output).not.toContain('started as');
    expect(await readFile(join(folder, 'docs', 'learning.md'), 'utf8')).toBe(text);
  });
});
