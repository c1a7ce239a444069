import { describe, expect, it } from 'vitest';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { TransferQueue } from '../../../shared/grpo/transfer-queue.js';

const queueOf = (options: Partial<ConstructorParameters<typeof TransferQueue>[0]> = {}) =>
  new TransferQueue<string>({ trajectories: 2, maxChunks: 2, ...options });

describe('the transfer queue', () => {
  it('holds a row for every turn a trajectory can have, or one a trajectory without expansion', () => {
    expect(queueOf().capacity).toBe(6);
    expect(queueOf({ expandTurns: false }).capacity).toBe(2);
    expect(() => queueOf({ trajectories: 0 })).toThrow(RangeError);
  });

  it('gives the consumer exactly the reported rows of its rollout id and keeps the counts', async () => {
    const queue = queueOf();
    const taking = queue.take(7);
    queue.put(7, 'a');
    queue.put(8, 'other');
    queue.put(7, 'b');
    queue.reportProduced(7, 2);
    expect(await taking).toEqual(['a', 'b']);
    expect(queue.length).toBe(1);
    queue.confirmConsumed(7, 2);
    expect(queue.ledger(7)).toEqual({ written: 2, produced: 2, taken: 2, consumed: 2 });
    expect(queue.ledger(8)).toEqual({ written: 1, produced: null, taken: 0, consumed: null });
  });

  it('takes a repeated equal report and refuses a different one', () => {
    const queue = queueOf();
    queue.put(0, 'a');
    queue.reportProduced(0, 1);
    queue.reportProduced(0, 1);
    expect(() => queue.reportProduced(0, 2)).toThrow(/reports 2 rows, but 1 were reported before/);
  });

  it('wakes every waiter at once with the cause when the producer fails', async () => {
    const queue = queueOf();
    const waiters = [queue.take(0), queue.take(0), queue.take(1)];
    const cause = new PipelineError('GenerationFailed', 'the endpoint kept failing');
    queue.fail(cause);
    const results = await Promise.allSettled(waiters);
    expect(results.map((result) => (result.status === 'rejected' ? (result.reason as unknown) : null))).toEqual([
      cause,
      cause,
      cause,
    ]);
    await expect(queue.take(2)).rejects.toBe(cause);
    expect(() => queue.put(0, 'late')).toThrow(cause);
  });

  it('keeps a failure of one rollout id from the others, and makes room for them', async () => {
    const queue = queueOf({ trajectories: 1 });
    for (const row of ['a', 'b', 'c']) queue.put(0, row);
    queue.fail(new PipelineError('ConversionFailed', 'misaligned'), 0);
    for (const row of ['d', 'e', 'f']) queue.put(1, row);
    queue.reportProduced(1, 3);
    expect(await queue.take(1)).toEqual(['d', 'e', 'f']);
    await expect(queue.take(0)).rejects.toThrow('misaligned');
  });

  it('fails both sides when a row does not fit, instead of waiting for room that cannot come', async () => {
    const queue = queueOf({ trajectories: 1, maxChunks: 1 });
    const waiter = queue.take(0);
    queue.put(0, 'a');
    queue.put(0, 'b');
    expect(() => queue.put(0, 'c')).toThrow(/the queue is full: it holds 2 rows/);
    await expect(waiter).rejects.toMatchObject({ type: 'ConversionFailed' });
  });

  it('fails when another number of rows arrived than was reported', async () => {
    const queue = queueOf();
    const waiter = queue.take(0);
    queue.put(0, 'a');
    expect(() => queue.reportProduced(0, 2)).toThrow(/reports 2 rows, but 1 arrived/);
    await expect(waiter).rejects.toMatchObject({ type: 'RowCountMismatch' });
  });

  it('refuses rows after the report, rows taken twice, and rows that do not divide', async () => {
    const late = queueOf();
    late.reportProduced(0, 0);
    expect(() => late.put(0, 'a')).toThrow(/after the producer's report/);
    const twice = queueOf();
    twice.put(0, 'a');
    twice.reportProduced(0, 1);
    await twice.take(0);
    await expect(twice.take(0)).rejects.toThrow(/taken before/);
    const odd = queueOf({ rowsMultiple: 2 });
    odd.put(0, 'a');
    odd.reportProduced(0, 1);
    await expect(odd.take(0)).rejects.toThrow(/1 rows are not divisible by 2/);
  });

  it('refuses a confirmation of another number of rows than was produced and taken', async () => {
    const queue = queueOf();
    queue.put(0, 'a');
    queue.reportProduced(0, 1);
    await queue.take(0);
    expect(() => queue.confirmConsumed(0, 2)).toThrow(/produced 1, taken 1, consumed 2/);
    const untaken = queueOf();
    untaken.put(0, 'a');
    untaken.reportProduced(0, 1);
    expect(() => untaken.confirmConsumed(0, 1)).toThrow(/produced 1, taken 0, consumed 1/);
  });

  it('lets a waiter be cancelled and leaves no listener behind', async () => {
    const queue = queueOf();
    const controller = new AbortController();
    const waiter = queue.take(0, controller.signal);
    controller.abort(new Error('stop'));
    await expect(waiter).rejects.toThrow('stop');
    queue.put(0, 'a');
    queue.reportProduced(0, 1);
    expect(await queue.take(0)).toEqual(['a']);
  });
});
