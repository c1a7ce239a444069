import { describe, expect, it } from 'vitest';
import { StepLog } from '../../../../engines/ray/log/step-log.js';
import type { Flavour } from '../../../../engines/ray/types.js';

const RAY = '\u001b[36m(RolloutManager pid=1805485, ip=10.0.0.7)\u001b[0m ';
const SLIME = '[2026-04-15 07:57:53] rollout.py:1254 - ';
const RELAX =
  '\u001b[32m2026-08-04 10:11:12\u001b[0m | \u001b[01;37mINFO\u001b[0m | \u001b[36mrelax.distributed.ray.rollout:412\u001b[0m \u001b[01;37m';
const REWARD = 'rollout/mem_agent_raw_reward/mean';

function read(flavour: Flavour, text: string, pieces = 1): StepLog {
  const log = new StepLog(flavour, 64);
  const size = Math.ceil(text.length / pieces);
  for (let at = 0; at < text.length; at += size) log.push(text.slice(at, at + size));
  log.end();
  return log;
}

describe('the step lines of a job’s log', () => {
  it('are found behind Ray’s prefix, both time formats and colours, in pieces cut anywhere', () => {
    const text =
      `${RAY}${RELAX}perf 0: {'${REWARD}': 0.25, 'rollout/response_len/mean': 2773.7148, 'perf/rollout_time': 371.1}\u001b[0m\n` +
      `(MegatronTrainRayActor pid=99) ${SLIME}step 0: {'train/loss': -1.2e-05, 'train/grad_norm': 0.5, 'train/step': 0}\r\n` +
      `perf 1: {'${REWARD}': 0.5}`;
    for (const pieces of [1, 7, text.length]) {
      const { records, problems } = read('relax', text, pieces);
      expect(problems).toEqual([]);
      expect([...records.keys()]).toEqual([0, 1]);
      expect(records.get(0)).toMatchObject({
        reward: 0.25,
        metrics: { 'rollout/response_len/mean': 2773.7148, 'perf/rollout_time': 371.1, 'train/loss': -0.000012 },
      });
      expect(records.get(1)).toMatchObject({ step: 1, reward: 0.5, counts: {} });
    }
  });

  it('may hold nan, inf, None, text, nested values and NumPy’s and PyTorch’s scalars', () => {
    const { records, problems } = read(
      'relax',
      `perf 3: {'${REWARD}': np.float64(0.125), 'perf/a': nan, 'perf/b': -inf, 'c': None, 'd': 'perf 4: {', ` +
        `'e': [1, 2], 'f': tensor(-0.5, device='cuda:0'), 'g': numpy.int64(7), 'h': True, 'i': open('x'), 3: 4}\n`
    );
    expect(problems).toEqual([]);
    expect([...records.keys()]).toEqual([3]);
    expect(records.get(3)?.reward).toBe(0.125);
    expect(records.get(3)?.metrics).toEqual({ [REWARD]: 0.125, f: -0.5, g: 7 });
  });

  it('take the reward from `rollout N` too, and VIME’s mean over rows only where nothing better is printed', () => {
    const rows = read('vime', "rollout 0: {'rollout/raw_reward': 0.3, 'rollout/rewards': 0.0}\n");
    expect(rows.records.get(0)?.reward).toBe(0.3);
    const both = read('vime', `rollout 0: {'rollout/raw_reward': 0.3}\nperf 0: {'${REWARD}': 0.25}\n`);
    expect(both.records.get(0)?.reward).toBe(0.25);
    const relax = read('relax', "rollout 0: {'rollout/raw_reward': 0.3}\n");
    expect(relax.records.get(0)?.reward).toBeUndefined();
  });

  it('change nothing when they come again, and are a problem when they contradict each other', () => {
    const line = `perf 2: {'${REWARD}': 0.5}\n`;
    expect(read('relax', line + line).problems).toEqual([]);
    const { problems, records } = read('relax', `${line}perf 2: {'${REWARD}': 0.75}\n${line}`);
    expect(problems).toEqual([
      { type: 'DataInvalid', message: `step 2: the log gives two values of ${REWARD}, 0.5 and 0.75` },
    ]);
    expect(records.get(2)?.reward).toBe(0.5);
  });

  it.each(['nan', '1.5', '-0.25', 'inf'])('report a reward of %s', (value) => {
    const { problems, records } = read('relax', `perf 0: {'${REWARD}': ${value}}\n`);
    expect(problems).toMatchObject([{ type: 'DataInvalid' }]);
    expect(records.get(0)?.reward).toBeUndefined();
  });

  it('report a loss that is not finite, once', () => {
    const line = "step 1: {'train/loss': nan, 'train/grad_norm': inf, 'train/lr-pg_0': 1e-06}\n";
    const { problems } = read('vime', line + line);
    expect(problems).toEqual([
      { type: 'NonFiniteLoss', message: 'step 1: train/loss is NaN' },
      { type: 'NonFiniteLoss', message: 'step 1: train/grad_norm is Infinity' },
    ]);
  });

  it('say nothing when they are cut or mixed with another line, and count when they come again whole', () => {
    const cut = `perf 0: {'${REWARD}': 0.5, 'rollout/resp`;
    expect(read('relax', `${cut}\n`).records.size).toBe(0);
    expect(read('relax', `${cut}(Actor pid=7) step 0: {'train/loss': 1}}\n`).records.get(0)?.reward).toBeUndefined();
    expect(read('relax', `${cut}\nperf 0: {'${REWARD}': 0.5}\n`).records.get(0)?.reward).toBe(0.5);
  });

  it('are no other line: evaluations, the critic, prose, and numbers beyond any run', () => {
    const { records } = read(
      'relax',
      [
        "eval 3: {'eval/dev': 0.5}",
        "critic-step 3: {'train/loss': 1}",
        'superstep 4: {}',
        "step 12345678901: {'train/loss': 1}",
        'Finish rollout 3/100',
        "step -1: {'a': 1}",
      ].join('\n')
    );
    expect(records.size).toBe(0);
  });

  it('are found between lines of ten megabytes, which are not kept', () => {
    const log = new StepLog('relax', 64);
    for (let at = 0; at < 160; at += 1) log.push('x'.repeat(65_536));
    log.push(`\nperf 0: {'${REWARD}': 0.5}\n`);
    expect(log.records.get(0)?.reward).toBe(0.5);
  });

  it('belong to the rollout announced last when a rollout has several optimizer steps', () => {
    const { records } = read(
      'vime',
      "rollout 1: {'rollout/raw_reward': 0.5}\n" +
        [17, 18, 19].map((step) => `step ${step}: {'train/loss': 0.${step}, 'train/global_batch_size': 64}\n`).join('')
    );
    expect([...records.keys()]).toEqual([1]);
    expect(records.get(1)).toMatchObject({ metrics: { 'train/loss': 0.19 }, counts: { consumed: 192 } });
  });
});

describe('the row counts of a log', () => {
  it('of Relax are what was transferred, by batch, however often the lines come', () => {
    const lines =
      'INFO | relax.utils.utils:412 Prepared rollout batch 0 with 1024 samples for transfer\n' +
      'Batch 0 transferred successfully for rollout_id: 5\n' +
      'Prepared rollout batch 1 with 64 samples for transfer\nBatch 1 transferred successfully for rollout_id: 5\n';
    expect(read('relax', lines + lines).records.get(5)?.counts).toEqual({ transferred: 1088 });
  });

  it('of VIME are turns and what the converter trimmed', () => {
    const turns = Array.from({ length: 64 }, () => `${RAY}[MemAgent] 16 chunks -> 17 turns, response_lengths=[1]\n`);
    const lines =
      `${turns.join('')}${RAY}${SLIME}perf 0: {'rollout/truncated_ratio': 0.0, 'perf/rollout_time': 3.1}\n` +
      `custom_convert: trimming expanded samples from 1090 to 1088\nrollout 0: {'rollout/raw_reward': 0.5}\n` +
      `step 0: {'train/global_batch_size': 1088}\n` +
      turns.join('') +
      `perf 1: {'rollout/truncated_ratio': 0.0}\n`;
    const { records } = read('vime', lines);
    expect(records.get(0)?.counts).toEqual({ generated: 1090, transferred: 1088, trimmed: 2, consumed: 1088 });
    expect(records.get(1)?.counts).toEqual({ generated: 1088 });
  });

  it('are absent where a framework counts trajectories, or only part of a rollout was printed', () => {
    expect(read('vime', "step 0: {'train/global_batch_size': 64}\n").records.get(0)?.counts).toEqual({});
    const part = "[MemAgent] 3 chunks -> 4 turns, response_lengths=[]\nperf 0: {'rollout/truncated_ratio': 0.0}\n";
    expect(read('vime', part).records.get(0)?.counts).toEqual({});
  });
});
