import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { differences } from '../../../shared/conformance/difference.js';
import { conformancePassed, formatConformance, runConformance } from '../../../shared/conformance/runner.js';
import { perCase, type Checker } from '../../../shared/conformance/types.js';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conformance-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Passes a case whose input equals its expectation. */
const equality = (file: string): Checker => ({
  file,
  check: perCase(({ input, expected }) => differences(expected, input, 'value')),
});

async function put(name: string, content: unknown): Promise<void> {
  await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
}

const oneCase = (input: unknown, expected: unknown) => ({ header: {}, cases: [{ id: 'a-1', input, expected }] });

describe('the conformance runner', () => {
  it('counts passed and failed cases and shows the first differences of a file', async () => {
    await put('a.json', {
      cases: [
        { id: 'a-1', input: 1, expected: 1 },
        { id: 'a-3', input: { x: [1, 2] }, expected: { x: [1, 3] } },
      ],
    });
    const results = await runConformance(folder, [equality('a.json')]);
    expect(results).toMatchObject([{ file: 'a.json', total: 2, passed: 1, failed: 1 }]);
    expect(formatConformance(results)).toEqual([
      'FAILED a.json  1 passed, 1 failed',
      '         a-3: value.x[1]: expected 3, got 2',
      '1 files, 1 cases passed, 1 failed',
    ]);
    expect(conformancePassed(results)).toBe(false);
  });

  it('fails a case file that no checker knows', async () => {
    await put('unknown.json', oneCase(1, 1));
    const results = await runConformance(folder, []);
    expect(results[0]).toMatchObject({ failed: 1, failures: [{ differences: ['no checker for this case file'] }] });
  });

  it('takes an exception in one case as a failure of that case alone', async () => {
    await put('a.json', {
      cases: [
        { id: 'a-1', input: 1, expected: 1 },
        { id: 'a-3', input: 2, expected: 2 },
      ],
    });
    const throwing: Checker = {
      file: 'a.json',
      check: perCase(({ input }) => {
        if (input === 1) throw new TypeError('boom');
        return [];
      }),
    };
    const [result] = await runConformance(folder, [throwing]);
    expect(result).toMatchObject({
      passed: 1,
      failed: 1,
      failures: [{ id: 'a-1', differences: ['threw TypeError: boom'] }],
    });
  });

  it('fails every case of a file whose checker throws or leaves cases out', async () => {
    await put('a.json', { cases: [{ id: 'a-1' }, { id: 'a-3' }] });
    const throws = await runConformance(folder, [{ file: 'a.json', check: () => Promise.reject(new Error('broken')) }]);
    expect(throws[0]).toMatchObject({ passed: 0, failed: 2 });
    const silent = await runConformance(folder, [{ file: 'a.json', check: () => [{ id: 'a-1', differences: [] }] }]);
    expect(silent[0]).toMatchObject({ passed: 0, failed: 2 });
  });

  it('fails a case file that is not JSON without stopping the others', async () => {
    await put('a.json', '{ torn');
    await put('b.json', oneCase(1, 1));
    const results = await runConformance(folder, [equality('a.json'), equality('b.json')]);
    expect(results.map(({ file, failed }) => [file, failed])).toEqual([
      ['a.json', 1],
      ['b.json', 0],
    ]);
  });

  it('reads the policy folder below the case folder, and alone', async () => {
    await mkdir(join(folder, 'policy', 'tiny'), { recursive: true });
    await put('policy/p.json', { runs: [1, 2] });
    await put('policy/tiny/config.json', {});
    const checker: Checker = {
      file: 'policy/p.json',
      check: (cases, { document }) => [
        { id: 'runs', differences: differences(2, (document['runs'] as number[]).length + cases.length, 'runs') },
      ],
    };
    const below = await runConformance(folder, [checker]);
    expect(below).toMatchObject([{ file: 'policy/p.json', passed: 1, failed: 0 }]);
    const alone = await runConformance(join(folder, 'policy'), [checker]);
    expect(alone).toMatchObject([{ file: 'p.json', passed: 1, failed: 0 }]);
  });

  it('says what is wrong with a folder that is absent or holds no case file', async () => {
    await expect(runConformance(join(folder, 'absent'))).rejects.toThrow(/cannot read the case folder/);
    await expect(runConformance(folder)).rejects.toThrow(/no case file/);
  });
});

describe('differences', () => {
  it('tells −0 from 0 and missing members from null, and lets numbers differ by the given tolerance', () => {
    expect(differences(0, -0, 'x')).toEqual(['x: expected 0, got -0']);
    expect(differences({ a: null }, {}, 'x')).toEqual(['x.a: expected null, got nothing']);
    expect(differences({ a: 1 }, { a: 1, b: 2 }, 'x')).toEqual(['x.b: expected nothing, got 2']);
    expect(differences(1, 1 + 1e-7, 'x', { relative: 1e-6 })).toEqual([]);
    expect(differences(1, 1 + 1e-5, 'x', { relative: 1e-6 })).toHaveLength(1);
    expect(differences(Number.NaN, Number.NaN, 'x')).toEqual([]);
  });

  it('reports at most twenty differences and cuts long values', () => {
    const many = Array.from({ length: 50 }, (_, at) => at);
    expect(
      differences(
        many,
        many.map((value) => value + 1),
        'x'
      )
    ).toHaveLength(20);
    expect(differences('a'.repeat(1000), 'b', 'x')[0]?.length).toBeLessThan(200);
  });
});
