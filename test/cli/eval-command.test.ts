import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { StoredSample, StoredSummary } from '../../shared/evaluation/types.js';
import { entryPath } from '../../shared/runtime/entry.js';
import { Bench, contextOf } from '../shared/evaluation/support.js';
import { memagent, type CommandResult } from './support.js';

// Processes are started: much slower than usual where other work has the cores.
vi.setConfig({ testTimeout: 180_000 });

let bench: Bench;
let data: string;
beforeAll(async () => {
  bench = await Bench.start({ latencyMs: 2 });
  data = join(bench.folder, 'eval_4.json');
  // As published: a list of rows with `input`, `answers`, `context`.
  const rows = Array.from({ length: 12 }, (_, i) => ({
    input: 'amber=',
    answers: ['47'],
    context: contextOf(16 + i),
    num_docs: 4,
  }));
  await writeFile(data, JSON.stringify(rows));
});
afterAll(() => bench.stop());

function command(out: string, ...more: string[]): string[] {
  const server = ['--endpoint', bench.server.address, '--protocol', 'sglang', '--model', '/models/m'];
  const files = ['--tokenizer', bench.tokenizer.directory, '--data', data, '--out', join(bench.folder, out)];
  const limits = ['--chunk-tokens', '24', '--memory-tokens', '16', '--final-tokens', '8', '--max-chunks', '2'];
  return ['eval', ...server, ...files, ...limits, ...more];
}

async function generated(): Promise<number> {
  return (await bench.control()).generated;
}

async function read(
  out: string,
  name = 'eval_4'
): Promise<{ samples: StoredSample[]; summary: StoredSummary; bytes: Buffer }> {
  const bytes = await readFile(join(bench.folder, out, `${name}.jsonl`));
  const summary = JSON.parse(await readFile(join(bench.folder, out, `${name}.summary.json`), 'utf8')) as StoredSummary;
  const samples = bytes
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StoredSample);
  return { samples, summary, bytes };
}

describe('memagent eval', () => {
  it('reads a file as published and prints scores, conditions, truncation and files', async () => {
    const { code, out, err } = await memagent(command('plain'));
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(out).toMatch(/^1\/12 .*samples\/s .*ETA .*sub-EM .*boxed EM .*0 errors$/m);
    expect(out).toMatch(/^12\/12 \(100 %\)/m);
    expect(out).toMatch(/^sub-EM .* % {2}\(95 % interval /m);
    expect(out).toMatch(/^server {4}sglang at http:.*model \/models\/m, context 1024, weights version 100$/m);
    expect(out).toMatch(/^sampling {2}temperature 0\.7, top-p 0\.95, seed 0$/m);
    expect(out).toMatch(/^Not full context: \d+ of 12 contexts were longer than 2 chunks of 24 tokens/m);
    const { samples, summary, bytes } = await read('plain');
    expect(samples.map(({ index }) => index)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(summary).toMatchObject({
      total: 12,
      errors: 0,
      data_file: 'eval_4.json',
      data_sha256: createHash('sha256')
        .update(await readFile(data))
        .digest('hex'),
      samples_sha256: createHash('sha256').update(bytes).digest('hex'),
      model: '/models/m',
    });
  });

  it('does not ask again for what is there, and says it as JSON', async () => {
    const before = await generated();
    const { code, out } = await memagent(command('plain', '--json'));
    expect(code).toBe(0);
    const result = JSON.parse(out) as {
      complete: boolean;
      reused: boolean;
      truncation: string;
      summary: StoredSummary;
    };
    expect(result).toMatchObject({ complete: true, reused: true, summary: { total: 12 } });
    expect(result.truncation).toMatch(/^Not full context/);
    expect(await generated()).toBe(before);
  });

  it('never writes over results of other settings, and lists what differs', async () => {
    const before = await read('plain');
    const { code, err } = await memagent(command('plain', '--temperature', '0.8', '--samples-per-item', '2'));
    expect(code).toBe(2);
    expect(err).toMatch(/eval_4\.summary\.json holds results of other settings/);
    expect(err).toContain('temperature: 0.7 there, 0.8 now');
    expect(err).toContain('sampling_count: 1 there, 2 now');
    expect((await read('plain')).bytes).toEqual(before.bytes);
  });

  it('takes several samples of an item, with its own file name', async () => {
    const { code, out } = await memagent(
      command('plain', '--samples-per-item', '3', '--items', '4', '--run-name', 'three')
    );
    expect(code).toBe(0);
    expect(out).toMatch(/^pass@3/m);
    expect(out).toMatch(/^samples {3}12 \(4 items × 3\), 0 errors/m);
    expect((await read('plain', 'three')).samples[4]).toMatchObject({ _id: '1-1', item: 1, sample: 1 });
  });

  it('sends no seed when asked not to, and says it', async () => {
    const { code, out } = await memagent(command('unseeded', '--seed', 'none', '--items', '2', '--json'));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ complete: true, summary: { seed: null, total: 2 } });
  });

  it('refuses a server with another model or context before the first request', async () => {
    const before = await generated();
    const model = command('refused').map((word) => (word === '/models/m' ? '/models/other' : word));
    const other = await memagent(model);
    expect(other.code).toBe(1);
    expect(other.err).toMatch(
      /is not the server to evaluate: model: the server has \/models\/m, expected \/models\/other/
    );
    const context = await memagent(command('refused', '--context-length', '8192'));
    expect(context.err).toContain('context length: the server has 1024, expected 8192');
    expect(await generated()).toBe(before);
    expect(existsSync(join(bench.folder, 'refused', 'eval_4.jsonl'))).toBe(false);
  });

  it('ends with 1 while request errors are left, and the same command asks only for those', async () => {
    await bench.control({ failItems: [3, 7], failWith: 400 });
    const broken = await memagent(command('errors', '--attempts', '1'));
    expect(broken.code).toBe(1);
    expect(broken.err).toMatch(/^first error: GenerationFailed: .*answered 400/m);
    expect(broken.err).toMatch(/incomplete: 2 samples of 12 have no result .*\n {2}memagent eval --endpoint/);
    await bench.control({ failItems: [] });
    const before = await bench.control();
    const { code, out } = await memagent(command('errors', '--attempts', '1'));
    expect(code).toBe(0);
    expect(out).toMatch(/10 of an earlier call/);
    const { asked } = await bench.control();
    const again = Object.keys(asked).filter((sample) => asked[sample] !== before.asked[sample]);
    expect(again.sort()).toEqual(['3/0', '7/0']);
  });

  it('stops at Ctrl-C with what to type, and then goes on to the same bytes', async () => {
    await memagent(command('calm', '--seed', '5'));
    const ctrlC = new AbortController();
    const args = command('stopped', '--seed', '5', '--concurrency', '1');
    const stopped = await memagent(args, { signal: ctrlC.signal, onLine: () => ctrlC.abort() });
    expect(stopped.code).toBe(130);
    expect(stopped.err).toMatch(/^interrupted: \d+ of 12 samples are kept\. Go on with\n {2}memagent eval .*--seed 5/m);
    const { code, out } = await memagent(args);
    expect(code).toBe(0);
    expect(out).toMatch(/samples {3}12, 0 errors, \d+ of an earlier call/);
    expect((await read('stopped')).bytes).toEqual((await read('calm')).bytes);
  });
});

describe('memagent eval as a process', () => {
  function start(out: string, ...more: string[]) {
    return spawn(process.execPath, [entryPath('cli/main.js'), ...command(out, ...more)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async function result(child: ReturnType<typeof start>): Promise<CommandResult> {
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return { code: child.exitCode ?? -1, out, err };
  }

  it('is alone with its results, survives kill -9 and asks for nothing twice', async () => {
    const more = ['--samples-per-item', '20', '--concurrency', '4'];
    const first = start('killed', ...more);
    const working = join(bench.folder, 'killed', 'eval_4.jsonl.working');
    const done = async (): Promise<number> => (await readFile(working, 'utf8').catch(() => '')).split('\n').length - 2;
    await expect.poll(done, { interval: 5, timeout: 30_000 }).toBeGreaterThan(5);
    const second = await memagent(command('killed', ...more));
    expect(second).toMatchObject({ code: 2, out: '' });
    expect(second.err).toMatch(/another evaluation writes these results: .* is held by process \d+/);
    first.kill('SIGKILL');
    await once(first, 'exit');
    const kept = await done();
    expect(kept).toBeLessThan(240);
    const { code, out, err } = await result(start('killed', ...more));
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(out).toContain(`240 (12 items × 20), 0 errors, ${kept} of an earlier call`);
    expect((await read('killed')).samples).toHaveLength(240);
    expect(existsSync(working)).toBe(false);
  });

  it('ends soon after Ctrl-C with code 130', async () => {
    const child = start('sigint', '--samples-per-item', '50', '--concurrency', '1');
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const { code, err } = await result(child);
    expect(code).toBe(130);
    expect(err).toMatch(/interrupted: .*Go on with/);
  });
});

describe('wrong use of memagent eval', () => {
  it.each([
    [['--data', 'none.json'], /there is no data file none\.json/],
    [['--run-name', '../x'], /"\.\.\/x" cannot be the name of result files/],
    [['--api-key-env', 'NO_SUCH_KEY'], /NO_SUCH_KEY holds no API key/],
    [['--chunk-tokens', '1000'], /does not fit the server’s context of 1024 tokens/],
    [['--top-p', '0'], /expected a number above 0 and at most 1/],
    [['--temperature', '-1'], /expected a number from 0 to 100/],
    [['--seed', '1.5'], /expected a whole number from 0/],
    [['--mode', 'once'], /Allowed choices are recurrent, base/],
    [['--items', '0'], /whole number ≥ 1/],
  ])('%j ends with code 2 and says what is wrong', async (more, pattern) => {
    const { code, err } = await memagent(command('wrong', ...more));
    expect(err).toMatch(pattern);
    expect(err).not.toMatch(/\n\s+at /);
    expect(code).toBe(2);
  });

  it('a server that is not there, a folder that is no tokenizer and a torn data file say how to go on', async () => {
    const torn = join(bench.folder, 'torn.json');
    await writeFile(torn, '[{"input": "a", "answers": ["b"], "context": "c"},');
    for (const [more, pattern] of [
      [
        ['--endpoint', 'http://127.0.0.1:9'],
        /no answer: connect ECONNREFUSED[^]*fix: Start the server or correct --endpoint/,
      ],
      [['--tokenizer', bench.folder], /tokenizer\.json is missing/],
      [['--data', torn], /torn\.json/],
      [['--run-name', 'n'.repeat(250)], /^error: (?!another evaluation)[^]*ENAMETOOLONG/],
    ] as const) {
      const { code, err } = await memagent(command('broken', ...more));
      expect(err).toMatch(pattern);
      expect(err).not.toMatch(/memagent decide|recipe check/);
      expect(code).toBe(1);
    }
  });
});
