import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RunStore } from '../../../shared/artifacts/run-store.js';
import { verifyRun } from '../../../shared/artifacts/verify.js';
import { rewriteReport } from '../../../shared/report/rewrite-report.js';
import { buildRun } from '../../fixtures/run-builder/build-run.js';

const PRODUCER = { activity: 'publishReport', attempt: 1, codeVersion: 'report-1' };

let folder: string;
let root: string;
let run: string;
let page: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-rewrite-'));
  root = join(folder, 'runs');
  run = (await buildRun({ root, pipelineId: 'run', steps: 2, promptsPerStep: 2, groupSize: 2, items: 4, lengths: [4] }))
    .directory;
  page = await readFile(await rewriteReport(run), 'utf8');
});
beforeEach(() => publish(page));
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function publish(text: string): Promise<void> {
  const store = await RunStore.open(root, 'run');
  await store.publish('report.html', text, { kind: 'report', inputs: [], producer: PRODUCER });
  await store.writeManifest();
}

async function isWhole(directory: string): Promise<boolean> {
  return (await verifyRun(directory)).checks.every((check) => check.problems.length === 0);
}

describe('making a report again', () => {
  it('leaves a run that can still be verified, also when another version of the product had made the report', async () => {
    await publish('<!doctype html><title>An older report</title>');
    expect(await readFile(await rewriteReport(run), 'utf8')).toBe(page);
    expect(await isWhole(run)).toBe(true);
  });

  it('mends a report that was changed by hand, and nothing else', async () => {
    const before = await stat(join(run, 'manifest.json'));
    await writeFile(join(run, 'report.html'), 'scribble');
    await rewriteReport(run);
    expect(await isWhole(run)).toBe(true);
    expect((await stat(join(run, 'manifest.json'))).mtimeMs).toBe(before.mtimeMs);
  });

  it('changes nothing in a copy of a run whose report is of another version, and says what to do', async () => {
    await publish('<!doctype html><title>An older report</title>');
    const copy = join(folder, 'copy');
    await cp(run, copy, { recursive: true });
    await expect(rewriteReport(copy)).rejects.toMatchObject({ cure: expect.stringContaining('--out FILE') as string });
    expect(await readFile(join(copy, 'report.html'), 'utf8')).toContain('An older report');
    expect(await isWhole(copy)).toBe(true);
  });
});
