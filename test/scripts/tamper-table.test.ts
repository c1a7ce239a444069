import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  allFound,
  tamperMarkdown,
  tamperTable,
  type Finding,
  type TamperRow,
} from '../../scripts/tamper/tamper-table.js';
import { verifyRun } from '../../shared/artifacts/verify.js';
import { ARTIFACT_KINDS } from '../../shared/contracts/artifact.js';
import { buildRun } from '../fixtures/run-builder/build-run.js';

const PRODUCER = { activity: 'test', attempt: 1, codeVersion: 'test-1' };

let root: string;
let directory: string;
let rows: TamperRow[];

async function check(run: string): Promise<Finding> {
  const { passed, checks } = await verifyRun(run);
  return { exitCode: passed ? 0 : 1, problems: checks.flatMap(({ problems }) => problems) };
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-tamper-test-'));
  const built = await buildRun({ root, steps: 1, promptsPerStep: 1, groupSize: 2, items: 2, lengths: [4] });
  directory = built.directory;
  const description = { inputs: [], producer: PRODUCER };
  await built.store.publish('arms/relax/checkpoints/iter_0000000/model.safetensors', 'weights', {
    ...description,
    kind: 'checkpoint',
  });
  await built.store.publish('evidence/train-relax/stall-001.json', '{}', { ...description, kind: 'log' });
  await built.store.publish('report.html', '<!doctype html>', { ...description, kind: 'report' });
  await built.store.writeManifest();
  rows = await tamperTable(directory, check);
}, 120_000);
afterAll(() => rm(root, { recursive: true, force: true }));

describe('one changed byte', () => {
  it('in any kind of file ends the check with 1, and the file is named', () => {
    expect(rows.filter(({ exitCode, sentence }) => exitCode !== 1 || sentence === undefined)).toEqual([]);
    expect(allFound(rows)).toBe(true);
  });

  it('was tried in every kind of artifact, in every form of file, and in what is written about them', () => {
    expect([...new Set(rows.map(({ kind }) => kind))].sort()).toEqual([...ARTIFACT_KINDS, 'sidecar'].sort());
    const names = rows.map(({ file }) => file).join('\n');
    for (const part of [
      '.parquet',
      '.jsonl',
      '.summary.json',
      '.safetensors',
      '.csv',
      'tfevents',
      'cost.json',
      '.meta/',
    ])
      expect(names).toContain(part);
  });

  it('left the run itself alone, which still passes', async () => {
    expect(await check(directory)).toEqual({ exitCode: 0, problems: [] });
  });

  it('would show in the table if it were not found', () => {
    const [first] = rows;
    const missed = { ...first, exitCode: 0, sentence: undefined } as TamperRow;
    expect(allFound([missed])).toBe(false);
    expect(tamperMarkdown([missed])).toContain('nothing that names the file');
  });
});
