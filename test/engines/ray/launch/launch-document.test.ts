import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../../shared/runtime/entry.js';
import { memagent } from '../../../cli/support.js';

const RECIPE = join(packageRoot(), 'recipes', 'qwen3-4b.json');
const PLACES = ['--run', '/shared/runs/qwen3-4b', '--model', '/shared/Qwen3-4B'];

describe('docs/launch.md', () => {
  it.each(['relax', 'vime'])('has the flags of %s as `memagent launch --explain` prints them', async (arm) => {
    const { code, out } = await memagent(['launch', '--explain', '--arm', arm, RECIPE, ...PLACES]);
    expect(code).toBe(0);
    expect(await readFile(join(packageRoot(), 'docs', 'launch.md'), 'utf8')).toContain(out);
  });
});
