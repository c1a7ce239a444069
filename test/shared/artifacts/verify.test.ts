import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readManifest } from '../../../shared/artifacts/manifest.js';
import { RunStore } from '../../../shared/artifacts/run-store.js';
import { readTrajectories, writeTrajectories } from '../../../shared/artifacts/trajectories-parquet.js';
import { verifyRun, type VerifyReport } from '../../../shared/artifacts/verify.js';
import { verifyFiles, verifyManifest } from '../../../shared/artifacts/verify/verify-files.js';
import type { EvaluationSample } from '../../../shared/scoring/evaluation-types.js';
import { buildRun } from '../../fixtures/run-builder/build-run.js';

let root: string;
let original: string;
let run: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-verify-'));
  const built = await buildRun({
    root,
    pipelineId: 'original',
    steps: 3,
    promptsPerStep: 2,
    groupSize: 4,
    items: 12,
    lengths: [4, 8],
  });
  original = built.directory;
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

beforeEach(async () => {
  run = join(root, 'copy');
  await rm(run, { recursive: true, force: true });
  await cp(original, run, { recursive: true });
});

function problems(report: VerifyReport): Record<string, string[]> {
  const found = report.checks.filter((check) => check.problems.length > 0);
  return Object.fromEntries(found.map((check) => [check.name, check.problems]));
}

/** Makes the hashes agree again, as somebody would who wants a changed file to look genuine. */
async function coverUp(path: string): Promise<void> {
  const store = await RunStore.open(root, 'copy');
  const sidecar = JSON.parse(await readFile(join(original, '.meta', `${path}.json`), 'utf8')) as {
    kind: 'rows';
    inputs: { path: string }[];
    producer: { activity: string; attempt: number; codeVersion: string };
  };
  const inputs = [];
  for (const input of sidecar.inputs) inputs.push(await store.expect(input.path));
  await store.adopt(path, { kind: sidecar.kind, producer: sidecar.producer, inputs });
  await store.writeManifest();
}

async function edit(path: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(join(run, path), 'utf8');
  const changed = change(text);
  expect(changed).not.toBe(text);
  await writeFile(join(run, path), changed);
}

async function flip(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  const place = Math.min(bytes.length - 1, Math.floor(bytes.length * at));
  bytes[place] = (bytes[place] ?? 0) ^ 0x01;
  await writeFile(path, bytes);
}

describe('an untouched run', () => {
  it('passes, and says what was derived again', async () => {
    const report = await verifyRun(run);
    expect(problems(report)).toEqual({});
    expect(report.passed).toBe(true);
    const counts = Object.fromEntries(report.checks.map(({ name, checked }) => [name, checked]));
    expect(counts).toMatchObject({ steps: 2 * (2 + 3), evaluations: 3 * 3 * 12, verdict: 1 });
    expect(counts['files']).toBeGreaterThan(60);
  });

  it('passes without its hidden folders, as somebody receives it', async () => {
    await rm(join(run, '.meta'), { recursive: true });
    expect(problems(await verifyRun(run))).toEqual({});
  });
});

describe('a changed byte', () => {
  it('is found in every single file of the run, by name', async () => {
    const names = (await readdir(run, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && entry.name !== 'manifest.json')
      .map((entry) => relative(run, join(entry.parentPath, entry.name)));
    // A check lists its first 50 problems, so not too many at once; first, middle and last byte in turn.
    for (let start = 0; start < names.length; start += 20) {
      const batch = names.slice(start, start + 20);
      const before = await Promise.all(batch.map((name) => readFile(join(run, name))));
      for (const [at, name] of batch.entries()) await flip(join(run, name), [0, 0.6, 1][at % 3] ?? 0);
      const found = await hashProblems(run);
      for (const name of batch) expect(found).toContain(name);
      for (const [at, name] of batch.entries()) await writeFile(join(run, name), before[at] ?? '');
    }
    expect(await hashProblems(run)).toBe('');
  });

  it.each([0, 0.1, 0.35, 0.6, 0.85, 1])('is found in the manifest itself, at %d of it', async (at) => {
    await flip(join(run, 'manifest.json'), at);
    expect(await hashProblems(run)).toContain('manifest.json');
  });

  it('fails the whole check', async () => {
    await flip(join(run, 'arms/relax/hf/model.safetensors'), 0.5);
    const report = await verifyRun(run);
    expect(report.passed).toBe(false);
    expect(problems(report)['files']?.join('\n')).toContain('arms/relax/hf/model.safetensors was changed');
  });
});

/** Problems of the checks that read every byte. */
async function hashProblems(directory: string): Promise<string> {
  try {
    const manifest = await readManifest(directory);
    const checks = [await verifyManifest(directory, manifest), await verifyFiles(directory, manifest)];
    return checks.flatMap((check) => check.problems).join('\n');
  } catch (error) {
    return (error as Error).message;
  }
}

describe('files', () => {
  it('that are missing or were added are named', async () => {
    await rm(join(run, 'arms/relax/reward.csv'));
    await writeFile(join(run, 'eval/base/better.jsonl'), '');
    const found = problems(await verifyRun(run))['files']?.join('\n');
    expect(found).toContain('arms/relax/reward.csv is missing');
    expect(found).toContain('eval/base/better.jsonl lies in the run’s folder, but is not in the manifest');
  });

  it('of a run without a manifest are vouched for by nothing, and what can be derived is', async () => {
    await rm(join(run, 'manifest.json'));
    expect(Object.keys(problems(await verifyRun(run)))).toEqual(['manifest']);
  });

  it('of another folder are refused', async () => {
    await expect(verifyRun(root)).rejects.toMatchObject({ type: 'DataInvalid', details: { where: root } });
  });
});

describe('a lie with matching hashes', () => {
  it('in a reward series is found', async () => {
    await edit('arms/relax/reward.csv', (text) => text.replace(/^2,.*$/m, '2,0.99'));
    await coverUp('arms/relax/reward.csv');
    expect(Object.keys(problems(await verifyRun(run)))).toEqual(['steps', 'verdict']);
  });

  it('in a trajectory’s reward is found: the final output does not earn it', async () => {
    const path = 'arms/vime/rollouts/step-000001.parquet';
    const trajectories = await readTrajectories(join(run, path));
    const lost = trajectories.find(({ reward }) => reward === 0);
    expect(lost).toBeDefined();
    if (lost !== undefined) lost.reward = 1;
    await writeTrajectories(join(run, path), trajectories);
    await coverUp(path);
    const found = problems(await verifyRun(run))['steps']?.join('\n');
    expect(found).toContain(`arms/vime step 1, trajectory ${lost?.index}, reward`);
    expect(found).toContain('arms/vime/rows/step-000001.parquet, column rewards');
  });

  it('in a step’s ledger is found', async () => {
    await edit('arms/vime/train/step-000002.json', (text) =>
      text.replace(/"consumed_rows": \d+/, '"consumed_rows": 39')
    );
    await coverUp('arms/vime/train/step-000002.json');
    expect(problems(await verifyRun(run))['steps']?.join('\n')).toContain(
      'train/step-000002.json, consumed_rows is 39'
    );
  });

  it.each([
    ['loss', /"loss": [-\d.e]+/, '"loss": 0.5', 'loss is 0.5'],
    ['policy loss', /"policy_loss": [-\d.e]+/, '"policy_loss": 0.01', 'policy_loss is 0.01, but must lie within'],
    ['KL', /"kl": [-\d.e]+/, '"kl": -0.2', 'kl is -0.2, but must lie within'],
    ['ratio', /"max_ratio": [-\d.e]+/, '"max_ratio": 1.5', 'max_ratio is 1.5, but must lie within'],
    ['clip fraction', /"clip_fraction": [-\d.e]+/, '"clip_fraction": 0.5', 'clip_fraction is 0.5'],
    ['gradient norm', /"grad_norm": [-\d.e]+/, '"grad_norm": null', 'grad_norm is null, no finite number'],
    ['count of trained tokens', /"trained_tokens": \d+/, '"trained_tokens": 12', 'trained_tokens is 12'],
    ['mean memory', /"mean_memory_tokens": [\d.]+/, '"mean_memory_tokens": 9', 'mean_memory_tokens is 9'],
  ])('in a step’s %s is found', async (_, pattern, lie, sentence) => {
    const path = 'arms/relax/train/step-000001.json';
    await edit(path, (text) => text.replace(pattern, lie));
    await coverUp(path);
    expect(problems(await verifyRun(run))['steps']?.join('\n')).toContain(`${path}, ${sentence}`);
  });

  it('in the facts beside trajectories and rows is found', async () => {
    for (const folder of ['rollouts', 'rows']) {
      const path = `arms/vime/${folder}/step-000000.json`;
      await edit(path, (text) => text.replace(/"(generated_turns|produced_rows)": \d+/, '"$1": 1'));
      await coverUp(path);
    }
    const found = problems(await verifyRun(run))['steps']?.join('\n');
    expect(found).toContain('arms/vime/rollouts/step-000000.json, generated_turns is 1');
    expect(found).toContain('arms/vime/rows/step-000000.json, produced_rows is 1');
  });

  it('in TensorBoard’s file is found, and a column that metrics.csv leaves out', async () => {
    const events = 'arms/relax/tensorboard/events.out.tfevents.0.memagent';
    await flip(join(run, events), 0.5);
    await coverUp(events);
    await edit('arms/relax/metrics.csv', (text) =>
      text
        .split('\n')
        .map((line) => line.replace(/,[^,]*$/, ''))
        .join('\n')
    );
    await coverUp('arms/relax/metrics.csv');
    const found = problems(await verifyRun(run))['steps']?.join('\n');
    expect(found).toContain(`${events} is not the series of the steps’ records`);
    expect(found).toContain('arms/relax/metrics.csv has no column truncated_share');
  });

  it('in the smoke gate is found', async () => {
    await edit('arms/relax/smoke/gate.json', (text) => text.replace(/"generated_turns": \d+/, '"generated_turns": 7'));
    await coverUp('arms/relax/smoke/gate.json');
    expect(problems(await verifyRun(run))['steps']?.join('\n')).toContain('gate.json, step 0, generated_turns is 7');
  });

  it('in a sample’s score is found, and in the summary that adds it up', async () => {
    await edit('eval/base/eval_4.jsonl', (text) => text.replace('"judge_sub_em":0', '"judge_sub_em":1'));
    await coverUp('eval/base/eval_4.jsonl');
    const found = problems(await verifyRun(run));
    expect(found['evaluations']?.join('\n')).toMatch(/eval\/base\/eval_4.jsonl, sample \d+, scores/);
    expect(found['evaluations']?.join('\n')).toContain('eval/base/eval_4.summary.json, sub_em');
  });

  it('in a sample’s expected answer is found against the data', async () => {
    await edit('eval/relax/eval_8.jsonl', (text) => {
      const lines = text.split('\n');
      const sample = JSON.parse(lines[0] ?? '') as EvaluationSample;
      lines[0] = JSON.stringify({ ...sample, answer: 'x', answers: ['x'] });
      return lines.join('\n');
    });
    await coverUp('eval/relax/eval_8.jsonl');
    expect(problems(await verifyRun(run))['evaluations']?.join('\n')).toContain('sample 0, answers');
  });

  it('in a dropped sample is found', async () => {
    await edit('eval/vime/dev.jsonl', (text) => text.split('\n').slice(1).join('\n'));
    await coverUp('eval/vime/dev.jsonl');
    expect(problems(await verifyRun(run))['evaluations']?.join('\n')).toContain('eval/vime/dev.summary.json, total');
  });

  it('in the verdict is found', async () => {
    await edit('verdict.json', (text) => text.replace(/"outcome": "[^"]+"/, '"outcome": "not-comparable"'));
    await coverUp('verdict.json');
    expect(problems(await verifyRun(run))).toEqual({
      verdict: expect.arrayContaining([expect.stringContaining('verdict.json, outcome')]) as string[],
    });
  });
});

describe('a run that stopped half-way', () => {
  it.each(['train', 'evaluate', 'judge'] as const)('before %s passes for what it has', async (until) => {
    const built = await buildRun({
      root,
      pipelineId: `until-${until}`,
      steps: 2,
      promptsPerStep: 1,
      groupSize: 4,
      items: 4,
      until,
    });
    expect(problems(await verifyRun(built.directory))).toEqual({});
  });
});
