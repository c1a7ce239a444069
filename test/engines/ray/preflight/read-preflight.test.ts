import { describe, expect, it } from 'vitest';
import type { PreflightFacts } from '../../../../engines/ray/preflight/preflight-job.js';
import { readPreflight } from '../../../../engines/ray/preflight/read-preflight.js';
import { changedRecipe } from '../support.js';

const PIN = '8a54679e971087566bfda939a5f75649e07fb861';
const file = { bytes: 7, sha256: 'a'.repeat(64) };
const FACTS: PreflightFacts = {
  modelDir: '/shared/model',
  modelFiles: [{ name: 'config.json', ...file }],
  trainData: { name: '/shared/run/data/train.jsonl', ...file },
  saveDir: '/shared/run/checkpoints',
  marker: { path: '/shared/run/seen', text: 'the same' },
};
const recipe = await changedRecipe('qwen3-4b', (raw) =>
  Object.assign(raw.cluster, { gpuMemoryGiB: 70, freeDiskGiB: 100 })
);
const gpu = (totalMiB = 81_559, usedMiB = 4) => ({ name: 'NVIDIA H100 80GB HBM3', totalMiB, usedMiB });

function node(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    address: '10.0.0.7',
    host: 'h100-01',
    checkout: { commit: PIN, changed: [], missing: [] },
    model: { 'config.json': file },
    data: file,
    marker: { text: 'the same' },
    disk: { path: '/shared', bytes: 2 ** 40 },
    nvidia: { gpus: Array.from({ length: 8 }, () => gpu()) },
    takenPorts: [],
    ...change,
  };
}

function judge(nodes: object[], gpus = { total: 8, free: 8 }): string[] | undefined {
  const output = `warning: something\nMEMAGENT_PREFLIGHT_RESULT ${JSON.stringify({ gpus, nodes })}\n`;
  const findings = readPreflight(output, recipe, 'relax', FACTS);
  return findings === undefined ? undefined : [...findings.problems, ...findings.busy];
}

describe('what a preflight found', () => {
  it('tells what is wrong from what is only taken', () => {
    const nodes = [node({ takenPorts: [8000], nvidia: { gpus: [gpu(81_559, 60_000)] } })];
    const output = `MEMAGENT_PREFLIGHT_RESULT ${JSON.stringify({ gpus: { total: 8, free: 0 }, nodes })}`;
    expect(readPreflight(output, recipe, 'relax', FACTS)).toEqual({
      problems: [],
      busy: [expect.anything(), expect.anything(), expect.anything()],
    });
  });

  it('is nothing to complain of where the cluster is as the recipe says, with a head that has no GPUs', () => {
    const head = node({ address: '10.0.0.1', host: 'head', nvidia: { error: 'nvidia-smi is not there' } });
    expect(judge([head, node()])).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'another commit',
      { checkout: { commit: 'f'.repeat(40) } },
      '10.0.0.7 (h100-01): /srv/memagent/Relax: commit ffffffffffff, the recipe names 8a54679e9710',
    ],
    [
      'a changed checkout',
      { checkout: { commit: PIN, changed: ['relax/core/controller.py'] } },
      'changed beside the commit: relax/core/controller.py',
    ],
    [
      'a commit without the example',
      { checkout: { commit: PIN, missing: ['examples/mem_agent/rollout.py'] } },
      'this commit lacks what the launch recipe names: examples/mem_agent/rollout.py',
    ],
    ['no checkout', { checkout: { error: 'no such folder' } }, 'cannot be told: no such folder'],
    [
      'another model file',
      { model: { 'config.json': { bytes: 7, sha256: 'b'.repeat(64) } } },
      '/shared/model/config.json: SHA-256 bbbbbbbbbbbb…, expected aaaaaaaaaaaa…',
    ],
    [
      'a model file cut short',
      { model: { 'config.json': { bytes: 3 } } },
      '/shared/model/config.json: 3 bytes, expected 7',
    ],
    ['no model', { model: {} }, '/shared/model/config.json: not looked at'],
    [
      'no data',
      { data: { error: 'No such file or directory' } },
      'training data /shared/run/data/train.jsonl: No such file or directory',
    ],
    [
      'storage that is not seen',
      { marker: { error: 'No such file or directory' } },
      'shared storage is not seen: /shared/run/seen: No such file or directory',
    ],
    ['storage of its own', { marker: { text: 'another' } }, 'the storage is not shared'],
    [
      'a full disk',
      { disk: { path: '/shared', bytes: 5 * 2 ** 30 } },
      '5.0 GiB free at /shared, the recipe asks for 100',
    ],
    [
      'small GPUs',
      { nvidia: { gpus: [gpu(24_564)] } },
      'GPU 0 (NVIDIA H100 80GB HBM3) has 24.0 GiB, the recipe asks for 70',
    ],
    ['GPUs that others use', { nvidia: { gpus: [gpu(81_559, 60_000)] } }, '58.6 GiB are used by another program'],
    [
      'GPUs of which nothing is known',
      { nvidia: { error: 'nvidia-smi is not there' } },
      'could not be looked at: nvidia-smi is not there',
    ],
    ['a port in use', { takenPorts: [8000] }, 'port 8000 is taken; `ray serve shutdown -y`'],
    ['no answer', { error: 'GetTimeoutError: Get timed out' }, 'no answer: GetTimeoutError'],
  ])('names %s', (_what, change, says) => {
    const problems = judge([node(change)]);
    expect(problems).toHaveLength(1);
    expect(problems?.[0]).toContain(says);
  });

  it('names what differs on another node than the one that hashed', () => {
    const other = node({
      address: '10.0.0.8',
      host: 'h100-02',
      model: { 'config.json': { error: 'Stale file handle' } },
    });
    expect(judge([node(), other])).toEqual(['10.0.0.8 (h100-02): /shared/model/config.json: Stale file handle']);
  });

  it('names GPUs that are not there or taken', () => {
    expect(judge([node()], { total: 4, free: 4 })).toEqual(['GPUs: the cluster has 4, the recipe’s job needs 8']);
    expect(judge([node()], { total: 8, free: 2 })).toEqual([
      'GPUs: 6 of the cluster’s 8 are taken, the recipe’s job needs 8',
    ]);
  });

  it.each([
    '',
    'Traceback (most recent call last):',
    'MEMAGENT_PREFLIGHT_RESULT {"nodes"',
    'MEMAGENT_PREFLIGHT_RESULT {"nodes": 3}',
  ])('is not known when the program did not get that far: %s', (output) => {
    expect(readPreflight(output, recipe, 'relax', FACTS)).toBeUndefined();
  });
});
