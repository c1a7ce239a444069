import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FailureDetails } from '../../shared/contracts/failures.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { timeSkippingEnvironment } from '../helpers/temporal-server.js';
import { commandShapes } from '../histories/command-shapes.js';
import { fetchRun } from '../histories/record.js';
import { JobBooks, jobRecipe, type JobAnswer } from './job-books.js';
import { startPipeline, withWorkers, type BookKeeping } from './support.js';

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await timeSkippingEnvironment();
});
afterAll(() => environment.teardown());

async function run(books: BookKeeping): Promise<{ id: string; progress: Progress; failed: boolean }> {
  return await withWorkers(environment, books, async () => {
    const handle = await startPipeline(environment, books);
    const failed = await handle.result().then(
      () => false,
      () => true
    );
    return { id: handle.workflowId, progress: await handle.query<Progress>('progress'), failed };
  });
}

describe('an arm that jobs train', () => {
  it('is followed step by step, through the same chain', async () => {
    const books = new JobBooks(jobRecipe());
    const { progress } = await run(books);
    expect(progress.state).toBe('completed');
    expect(progress.arms['relax']).toMatchObject({ phase: 'train', step: 4, totalSteps: 4 });
    expect(books.asked.map(({ phase, fromStep, untilStep }) => `${phase} ${fromStep}-${untilStep}`)).toEqual([
      ...['smoke 0-1', 'smoke 1-2'],
      ...['train 0-1', 'train 1-2', 'train 2-3', 'train 3-4'],
    ]);
    expect(books.count('generateRollouts')).toBe(0);
    expect(books.stops).toEqual([{ phase: 'smoke' }, { phase: 'train' }]);
  });

  it('waits, without holding a worker, while another run has the cluster', async () => {
    const books = new JobBooks(jobRecipe(), (args, call) =>
      args.phase === 'smoke' && call <= 3 ? { waitingFor: 'the train run of vime in another-run' } : {}
    );
    const { id, progress } = await run(books);
    expect(progress.state).toBe('completed');
    expect(progress.attempts).toEqual([]);
    expect(books.asked.filter(({ phase }) => phase === 'smoke')).toHaveLength(5);
    const { history } = await fetchRun(environment, `${id}/smoke-relax`);
    expect(commandShapes([history.events]).timers).toEqual(['10s', '20s', '5s']);
  });

  it('goes back to what a resumed job says, and gets its budget back with each step', async () => {
    const { ApplicationFailure } = await import('@temporalio/activity');
    const lost = (): Error => ApplicationFailure.create({ type: 'HostLost', message: 'the node died' });
    let train = 0;
    const books = new JobBooks(jobRecipe(), (args) => {
      if (args.phase === 'smoke') return {};
      train += 1;
      // Every other call fails: more failures in all than the budget has, but each step is progress.
      if (train % 2 === 0 && train < 24) return lost();
      if (train < 24)
        return {
          steps: (train % 3) + 1,
          finished: false,
          rewardsFrom: 0,
          rewards: [0.1, 0.2, 0.3].slice(0, (train % 3) + 1),
        };
      return { steps: 4, finished: true, rewardsFrom: 0, rewards: [0.1, 0.2, 0.3, 0.4] };
    });
    const { progress } = await run(books);
    expect(progress.state).toBe('completed');
    expect(progress.arms['relax']?.rewards).toEqual([0.1, 0.2, 0.3, 0.4]);
    expect(progress.failedAttempts).toBeGreaterThan(8);
  });

  it('is asked what it ended with until somebody says so, or follows a job that goes on', async () => {
    const { ApplicationFailure } = await import('@temporalio/activity');
    const failure = (details: FailureDetails[]): Error =>
      ApplicationFailure.create({ type: 'EngineUnavailable', message: 'it failed', details });
    const answers: Record<number, JobAnswer> = {
      1: 'silent',
      2: { waitingFor: 'the train run of vime in another-run' },
      3: failure([]),
      4: failure([{ jobEnd: 'job-1' }]),
      5: 'silent',
    };
    const books = new JobBooks(jobRecipe(), (_args, call) => answers[call] ?? {});
    const { progress } = await run(books);
    expect(progress.state).toBe('completed');
    const [first, second, third, fourth, fifth, sixth, ...later] = books.asked.map(({ unheardSince }) => unheardSince);
    expect(first).toBeUndefined();
    expect(second).toBeTypeOf('number');
    expect([third, fourth]).toEqual([second, second]);
    expect(fifth).toBeUndefined();
    expect(sixth).toBeGreaterThan(second as number);
    expect(later.length).toBeGreaterThan(0);
    expect(new Set(later)).toEqual(new Set([undefined]));
    expect(books.asked.map(({ heardEnd }) => heardEnd).slice(3, 6)).toEqual([undefined, 'job-1', 'job-1']);
  });

  it('is left alone when it failed to be seen: only a job that is over gives the cluster back', async () => {
    const { ApplicationFailure } = await import('@temporalio/activity');
    const books = new JobBooks(jobRecipe(), () =>
      ApplicationFailure.create({ type: 'EngineUnavailable', message: 'the dashboard does not answer' })
    );
    const { failed } = await run(books);
    expect(failed).toBe(true);
    expect(books.asked).toHaveLength(8);
    expect(books.stops).toEqual([{ phase: 'smoke', onlyIfOver: true }]);
  });
});
