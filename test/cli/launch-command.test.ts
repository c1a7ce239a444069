import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ComparedFlag } from '../../engines/ray/launch/compare-flags.js';
import type { JobSpec } from '../../engines/ray/types.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { memagent } from './support.js';

const RECIPE = join(packageRoot(), 'recipes', 'qwen3-4b.json');
const LAPTOP = join(packageRoot(), 'recipes', 'laptop.json');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-launch-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('memagent launch', () => {
  it('prints a script that a shell reads back as the very job', async () => {
    const places = ['--run', join(folder, 'a run'), '--model', '/shared/model'];
    const script = await memagent(['launch', '--print', '--arm', 'relax', RECIPE, ...places]);
    expect(script.code).toBe(0);
    const json = await memagent(['launch', '--json', '--arm', 'relax', RECIPE, ...places]);
    const spec = JSON.parse(json.out) as JobSpec;
    // A `ray` that prints its arguments, one a line.
    await writeFile(join(folder, 'ray'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
    const words = execFileSync('/bin/sh', ['-c', script.out], { env, encoding: 'utf8' }).split('\n');
    expect(words.slice(0, 4)).toEqual(['job', 'submit', '--address', 'http://127.0.0.1:8265']);
    expect(JSON.parse(words[5] ?? '')).toEqual(spec.runtimeEnv);
    expect(words.slice(-4, -1)).toEqual(['bash', '-c', spec.entrypoint]);
    const [config] = spec.files ?? [];
    expect(execFileSync('cat', [config?.path ?? ''], { encoding: 'utf8' })).toBe(config?.text);
  });

  it('explains every flag as data too', async () => {
    const { out } = await memagent(['launch', '--explain', '--json', '--arm', 'vime', RECIPE]);
    const flags = JSON.parse(out) as ComparedFlag[];
    expect(flags.find(({ name }) => name === '--rotary-base')).toMatchObject({
      ours: '1000000',
      reference: '5000000',
      verdict: 'changed',
    });
  });

  it('says what the framework has no setting for', async () => {
    const recipe = join(packageRoot(), 'recipes', 'qwen3-0.6b.json');
    const { code, err } = await memagent(['launch', '--arm', 'vime', recipe]);
    expect(code).toBe(0);
    expect(err).toContain('note: arm vime: VIME’s rollout has no setting for memory.enableThinking');
  });

  it.each([
    [[RECIPE], 2, 'Add --arm with one of relax, vime.'],
    [[RECIPE, '--arm', 'relax', '--phase', 'both'], 2, '--phase: expected train or smoke, found "both"'],
    [[RECIPE, '--arm', 'slime'], 2, 'no arm is named “slime”; known are relax, vime'],
    [[LAPTOP, '--arm', 'relax'], 2, 'only a recipe with engine “ray” has jobs to launch'],
    [
      [RECIPE, '--arm', 'relax', '--preflight', '--data', '/nowhere.jsonl'],
      1,
      'the training data /nowhere.jsonl cannot be read (ENOENT)',
    ],
    [['/nowhere.json', '--arm', 'relax'], 2, '/nowhere.json'],
  ])('refuses %j with code %d', async (args, code, says) => {
    const result = await memagent(['launch', ...args]);
    expect(result.code).toBe(code);
    expect(result.err).toContain(says);
  });
});
