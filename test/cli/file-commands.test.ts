import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Check } from '../../cli/doctor-checks.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { memagent } from './support.js';

const root = packageRoot();
const RECIPES = join(root, 'recipes');
const CASES = join(process.env['MEMAGENT_SHARED'] ?? join(root, '..', 'shared'), 'cases');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-files-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function recipe(name: string, change: (value: Record<string, unknown>) => void): Promise<string> {
  const value = JSON.parse(await readFile(join(RECIPES, 'laptop.json'), 'utf8')) as Record<string, unknown>;
  change(value);
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(value));
  return path;
}

describe('memagent recipe', () => {
  it.each(['laptop', 'qwen3-4b', 'qwen3-0.6b'])('check says what %s would need', async (name) => {
    const { code, out } = await memagent(['recipe', 'check', join(RECIPES, `${name}.json`)]);
    expect(code).toBe(0);
    expect(out).toContain('a good recipe');
    expect(out).toMatch(/workers {3}memagent, data@\w+/);
  });

  it('check lists every wrong field, ends with 1, and prints the same as JSON', async () => {
    const file = await recipe('wrong.json', (value) => Object.assign(value, { onhalt: 'fail', grpo: { steps: 0 } }));
    const { code, err } = await memagent(['recipe', 'check', file]);
    expect(code).toBe(1);
    expect(err).toContain('onhalt: unknown key; did you mean “onHalt”?');
    expect(err).toContain('grpo.steps: expected a whole number ≥ 1, found 0');
    const json = await memagent(['recipe', 'check', file, '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, problems: { length: 2 } });
  });

  it('check --normalized prints a recipe that is one again', async () => {
    const { out } = await memagent(['recipe', 'check', join(RECIPES, 'laptop.json'), '--normalized']);
    const file = join(folder, 'normalized.json');
    await writeFile(file, out);
    const same = await memagent(['recipe', 'diff', join(RECIPES, 'laptop.json'), file]);
    expect(same).toMatchObject({ code: 0, out: 'the recipes mean the same' });
  });

  it('diff names every differing field, defaults included, and ends with 1', async () => {
    const file = await recipe('other.json', (value) => {
      Object.assign(value, { limits: {}, name: 'other' });
      Object.assign(value['grpo'] as object, { steps: 7 });
    });
    const { code, out } = await memagent(['recipe', 'diff', join(RECIPES, 'laptop.json'), file]);
    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      'grpo.steps: 100 → 7',
      'limits.heartbeatSeconds: 10 → 30',
      'name: "laptop" → "other"',
    ]);
  });

  it('schema prints the schema that is committed', async () => {
    const { out } = await memagent(['recipe', 'schema']);
    expect(`${out}\n`).toBe(await readFile(join(RECIPES, 'recipe.schema.json'), 'utf8'));
  });
});

describe('memagent replay', () => {
  const history = join(root, 'test', 'histories', 'happy.pipeline.json.gz');

  it('replays recorded files', async () => {
    const { code, out } = await memagent(['replay', history]);
    expect(out).toMatch(/^✔ history-happy \(\d+ events\)$/);
    expect(code).toBe(0);
  });

  it('finds a history that this code could not have made, with code 1', async () => {
    const recorded = gunzipSync(await readFile(history)).toString('utf8');
    const text = recorded.replaceAll('"prepareData"', '"preparedData"');
    const changed = join(folder, 'changed.json');
    await writeFile(changed, text);
    const { code, out } = await memagent(['replay', changed, '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject([
      { workflowId: 'history-happy', problem: expect.stringMatching(/determinis/i) as string },
    ]);
  });

  it('refuses a file that is called compressed and is not', async () => {
    const file = join(folder, 'strange.json.gz');
    await writeFile(file, '{}');
    expect(await memagent(['replay', file])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/is not a workflow history: incorrect header check/) as string,
    });
  });

  it.each([
    ['{"events": "no"}', /is not a workflow history/],
    ['{"events": []}', /does not say the workflow’s id/],
    ['{"events": [}', /not JSON/],
  ])('refuses %s', async (text, pattern) => {
    const file = join(folder, 'strange.json');
    await writeFile(file, text);
    const { code, err } = await memagent(['replay', file]);
    expect(code).toBe(2);
    expect(err).toMatch(pattern);
  });
});

describe.skipIf(!existsSync(CASES))(
  'memagent conformance (skipped where the case folder ../shared/cases is absent)',
  () => {
    it('prints a line a file, the sum, and ends with 0', async () => {
      const cases = join(folder, 'cases');
      for (const file of ['reward.json', 'metrics.json']) await cp(join(CASES, file), join(cases, file));
      const { code, out } = await memagent(['conformance', cases]);
      expect(out).toMatch(
        /^✔ metrics\.json {2}\d+ passed, 0 failed\n✔ reward\.json {3}\d+ passed, 0 failed\n2 files, (\d+) of \1 cases passed$/
      );
      expect(code).toBe(0);
    });

    it('shows the first differences of a file that fails, and ends with 1', async () => {
      const cases = join(folder, 'wrong-cases');
      const document = JSON.parse(await readFile(join(CASES, 'reward.json'), 'utf8')) as {
        cases: { expected: unknown }[];
      };
      for (const testCase of document.cases) testCase.expected = { score: 0.5 };
      await cp(join(CASES, 'metrics.json'), join(cases, 'metrics.json'));
      await writeFile(join(cases, 'reward.json'), JSON.stringify(document));
      const { code, out } = await memagent(['conformance', cases, '--differences', '2']);
      expect(code).toBe(1);
      expect(out).toMatch(
        /✖ reward\.json {3}0 passed, \d+ failed\n {4}\S+: .*\n {4}\S+: .*\n {4}… and \d+ more differences/
      );
      expect(JSON.parse((await memagent(['conformance', cases, '--json'])).out)).toHaveLength(2);
    });

    it('says that a folder holds no cases', async () => {
      const { code, err } = await memagent(['conformance', join(folder, 'nowhere')]);
      expect(code).toBe(1);
      expect(err).toContain('cannot read the case folder');
    });
  }
);

describe('memagent report and verify', () => {
  it('refuse a folder that is no run', async () => {
    for (const command of ['report', 'verify']) {
      const { code, err } = await memagent([command, folder]);
      expect(code).toBe(1);
      expect(err).toContain('is not a run’s directory'.replace('’', "'"));
    }
  });
});

describe('memagent doctor', () => {
  it('finds what this machine has', async () => {
    const { out } = await memagent(['doctor', '--json']);
    const checks = JSON.parse(out) as Check[];
    const names = ['Node', 'npm', 'Temporal CLI', 'Python with pip', 'build', 'cache', 'runs', 'Temporal server'];
    expect(checks.map((check) => check.name)).toEqual(names);
    expect(checks.find((check) => check.name === 'Node')).toMatchObject({
      state: 'ok',
      finding: process.versions.node,
    });
    for (const check of checks) if (check.state !== 'ok') expect(check.cure).toBeTruthy();
  });

  it('names a cache that cannot be written and how to correct it, with code 1', async () => {
    const file = join(folder, 'a-file');
    await writeFile(file, '');
    const { code, out } = await memagent(['doctor'], { env: { MEMAGENT_HOME: join(file, 'home') } });
    expect(code).toBe(1);
    expect(out).toMatch(/✖ cache .*cannot be written \(ENOTDIR\)\n.*choose another folder/);
  });
});
