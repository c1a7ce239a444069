import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memagent, type CommandResult } from './support.js';

const TRIES = 4;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-screen-'));
});
afterEach(() => rm(folder, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Data of as many rows, and an evaluation in which a row was solved so often. */
async function evaluated(successes: readonly number[], summary: object = {}): Promise<string[]> {
  const rows = successes.map((_, at) => ({
    prompt: `q${at}\u2028`,
    metadata: { question: `q${at}`, context: `c${at}` },
  }));
  const data = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const lines = successes.flatMap((count, item) =>
    Array.from({ length: TRIES }, (_, sample) => ({ item, sample, judge_boxed_em: sample < count ? 1 : 0 }))
  );
  const samples = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(join(folder, 'train.jsonl'), data);
  await writeFile(join(folder, 'tries.jsonl'), samples);
  const facts = { sampling_count: TRIES, errors: 0, data_sha256: sha256(data), samples_sha256: sha256(samples) };
  await writeFile(join(folder, 'tries.summary.json'), JSON.stringify({ model: 'base', ...facts, ...summary }));
  return rows.map((row) => JSON.stringify(row));
}

function screen(train: number, heldOut: number): Promise<CommandResult> {
  const wish = ['--train', String(train), '--held-out', String(heldOut)];
  const [samples, data, out] = ['tries.jsonl', 'train.jsonl', 'out'].map((name) => join(folder, name));
  return memagent(['data', 'screen', samples ?? '', '--data', data ?? '', '--out', out ?? '', ...wish]);
}

describe('memagent data screen', () => {
  it('writes two splits of the very rows, and a manifest that says how they were chosen', async () => {
    const rows = await evaluated([0, 2, 4, 1, 3, 2]);
    const { code, out } = await screen(2, 1);
    expect(code).toBe(0);
    expect(out).toContain('prompts by successes of 4: 1 1 2 1 1');
    const [train, heldOut] = await Promise.all(
      ['train', 'heldout'].map((name) => readFile(join(folder, 'out', `${name}.jsonl`), 'utf8'))
    );
    expect([train, heldOut]).toEqual([`${rows[1]}\n${rows[3]}\n`, `${rows[4]}\n`]);
    expect(JSON.parse(await readFile(join(folder, 'out', 'screening.json'), 'utf8'))).toMatchObject({
      candidates: 6,
      usable: 4,
      splits: {
        train: {
          sha256: sha256(train ?? ''),
          items: [
            { item: 1, successes: 2 },
            { item: 3, successes: 1 },
          ],
        },
        heldOut: { items: [{ item: 4, successes: 3 }] },
      },
    });
  });

  it('writes nothing when too few prompts are usable, and says what to do', async () => {
    await evaluated([0, 4, 2]);
    const { code, err } = await screen(2, 0);
    expect(code).toBe(1);
    expect(err).toContain('1 of 3 prompts have both a success and a failure in 4 tries; 2 are wanted');
    expect(err).toContain('Screen more candidate prompts');
    expect(await readdir(folder)).not.toContain('out');
  });

  it('refuses tries of other data, changed or unfinished ones, with every reason', async () => {
    await evaluated([2, 2], {
      errors: 1,
      data_sha256: '0'.repeat(64),
      samples_sha256: '0'.repeat(64),
      sampling_count: 1,
    });
    const { code, err } = await screen(1, 0);
    expect(code).toBe(1);
    for (const reason of ['one try a prompt', 'request errors', 'not the file', 'was changed'])
      expect(err).toContain(reason);
    await rm(join(folder, 'tries.summary.json'));
    expect((await screen(1, 0)).err).toContain('--samples-per-item 8');
  });
});
