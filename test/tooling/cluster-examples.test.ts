import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { FAILURE_TYPES } from '../../shared/contracts/failures.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';
import { parseRoles, parseTag } from '../../workers/queue-plan.js';
import { memagent } from '../cli/support.js';

const read = (path: string): string => readFileSync(join(packageRoot(), path), 'utf8');

const UNIT = 'examples/systemd/memagent-worker@.service';

interface Container {
  args: string[];
  volumeMounts: { name: string }[];
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: {
    selector?: { matchLabels: object };
    template?: {
      metadata: { labels: object };
      spec: { terminationGracePeriodSeconds: number; containers: Container[]; volumes: { name: string }[] };
    };
  };
}

/** Command lines of `memagent` in a text, as words. */
function commandsIn(text: string): string[][] {
  const lines = [...text.matchAll(/\bmemagent ([a-z][^\n`#|(;]*)/g)].map(([, rest]) =>
    (rest ?? '').trim().split(/\s+/)
  );
  return lines.filter(([first]) => first !== 'worker' || !text.includes('[Unit]'));
}

/** Checks that the command line offers the command with every option that is used. */
async function expectCommand(words: readonly string[]): Promise<void> {
  const name = words[0] === 'recipe' ? words.slice(0, 2) : words.slice(0, 1);
  const { code, out } = await memagent([...name, '--help']);
  expect([words.join(' '), code]).toEqual([words.join(' '), 0]);
  for (const option of words.filter((word) => word.startsWith('--'))) expect(out).toContain(option);
}

function valuesOf(words: readonly string[], option: string): string[] {
  return words.flatMap((word, at) => (word === option ? [words[at + 1] ?? ''] : []));
}

function expectWorker(words: readonly string[]): void {
  expect(parseRoles(valuesOf(words, '--role')).length).toBeGreaterThan(0);
  for (const tag of valuesOf(words, '--tag')) expect(parseTag(tag)).toBe(tag);
}

describe('the guide for clusters', () => {
  const guide = read('docs/cluster.md');

  it('uses only commands and options that there are', async () => {
    const commands = commandsIn(guide).filter((words) => words[0] !== 'decide' || words.includes('--action'));
    expect(commands.length).toBeGreaterThan(6);
    for (const words of commands) await expectCommand(words);
    for (const words of commands.filter(([first]) => first === 'worker')) expectWorker(words);
  });

  it('says what to do for every class of failure', () => {
    const rows = guide.split('\n').filter((line) => line.startsWith('| `'));
    for (const type of FAILURE_TYPES) expect(rows.some((row) => row.includes(`\`${type}\``))).toBe(true);
  });

  it('serves every role and tag of the reference recipe', () => {
    const { placement } = JSON.parse(read('recipes/qwen3-4b.json')) as { placement: Record<string, string> };
    const served = commandsIn(guide)
      .filter(([first]) => first === 'worker')
      .flatMap((words) =>
        parseRoles(valuesOf(words, '--role')).map((role) => `${role}@${valuesOf(words, '--tag')[0]}`)
      );
    for (const [role, tag] of Object.entries(placement)) expect(served).toContain(`${role}@${tag}`);
  });

  it('links to files that there are', () => {
    for (const [, target] of guide.matchAll(/\]\(([^)]+)\)/g))
      expect(existsSync(join(packageRoot(), 'docs', target as string))).toBe(true);
  });
});

describe('the systemd unit', () => {
  it('is accepted by systemd (skipped where there is none)', async ({ skip }) => {
    const folder = await mkdtemp(join(tmpdir(), 'memagent-unit-'));
    try {
      await copyFile(join(packageRoot(), UNIT), join(folder, 'memagent-worker@.service'));
      const verified = await runProgram('systemd-analyze', ['verify', join(folder, 'memagent-worker@.service')], {
        timeoutMs: 60_000,
      });
      if (verified.error === 'ENOENT') skip('there is no systemd-analyze');
      expect(verified).toMatchObject({ code: 0, output: '' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('starts a worker with the roles and options of its settings', async () => {
    expect(read(UNIT)).toContain('memagent worker $WORKER_ARGS');
    const words = /^WORKER_ARGS=(.*)$/m.exec(read('examples/systemd/worker.env'))?.[1]?.split(' ') ?? [];
    await expectCommand(['worker', ...words]);
    expectWorker(words);
  });
});

describe('the Kubernetes manifests', () => {
  const documents = parseAllDocuments(read('examples/k8s/workers.yaml'), { strict: true, uniqueKeys: true });
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const deployments = manifests.filter(({ kind }) => kind === 'Deployment');

  it('are well-formed and hang together', () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    expect(deployments.length).toBe(2);
    for (const { spec } of deployments) {
      expect(spec.template?.metadata.labels).toEqual(spec.selector?.matchLabels);
      expect(spec.template?.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(90);
      const volumes = spec.template?.spec.volumes.map(({ name }) => name);
      for (const { volumeMounts } of spec.template?.spec.containers ?? [])
        expect(volumes).toEqual(expect.arrayContaining(volumeMounts.map(({ name }) => name)));
    }
  });

  it('start workers with roles and tags that there are', async () => {
    for (const { args } of deployments.flatMap(({ spec }) => spec.template?.spec.containers ?? [])) {
      expect(args.slice(0, 2)).toEqual(['memagent', 'worker']);
      await expectCommand(args.slice(1));
      expectWorker(args);
    }
  });
});
