import { WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ActivityFailure, CancelledFailure, type ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Progress } from '../../shared/contracts/progress.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { BookKeeping, startPipeline, testRecipe, until, withWorkers } from './support.js';

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await localEnvironment();
});
afterAll(() => environment.teardown());

async function failureOf(result: Promise<unknown>): Promise<ApplicationFailure> {
  try {
    await result;
  } catch (error) {
    let cause = error instanceof WorkflowFailedError ? error.cause : error;
    while (cause instanceof ActivityFailure && cause.cause !== undefined) cause = cause.cause;
    return cause as ApplicationFailure;
  }
  throw new Error('the workflow did not fail');
}

describe('the pipeline', () => {
  it('goes from recipe to report: smoke gate before the full run, both arms, base and arms evaluated on every data set', async () => {
    const books = new BookKeeping(testRecipe());
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      const result = (await handle.result()) as { verdict: { outcome: string } };
      expect(result.verdict.outcome).toBe('passed');
      for (const arm of ['relax', 'vime']) {
        expect(books.count(`trainStep:smoke-${arm}`)).toBe(2);
        expect(books.count(`trainStep:train-${arm}`)).toBe(4);
        expect(books.calls.indexOf(`closeArm:smoke-${arm}`)).toBeLessThan(books.calls.indexOf(`openArm:train-${arm}`));
        expect(books.count(`saveCheckpoint:train-${arm}`)).toBe(2);
        expect(books.count(`stopEngine:train-${arm}`)).toBe(1);
      }
      for (const model of ['base', 'relax', 'vime']) expect(books.count(`evaluateModel:${model}`)).toBe(2);
      const progress = await handle.query<Progress>('progress');
      expect(progress.state).toBe('completed');
      expect(progress.stages.map((stage) => stage.state)).toEqual(progress.stages.map(() => 'done'));
      expect(progress.arms['relax']).toMatchObject({ phase: 'train', step: 4, totalSteps: 4, weightsVersion: 4 });
    });
  });

  it('repeats a failed generation within the budget and lists the attempt', async () => {
    const books = new BookKeeping(testRecipe());
    books.fail('generateRollouts:train-relax:1', 'GenerationFailed', 2);
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await handle.result();
      expect(books.count('generateRollouts:train-relax:1')).toBe(3);
      expect(books.count('trainStep:train-relax')).toBe(4);
      const progress = await handle.query<Progress>('progress');
      expect(progress.failedAttempts).toBe(2);
      expect(progress.attempts[0]).toMatchObject({
        stage: 'train:relax',
        activity: 'generateRollouts',
        step: 1,
        type: 'GenerationFailed',
      });
    });
  });

  it('fails at once, with the type of the table, when rows were lost between conversion and training', async () => {
    const books = new BookKeeping(testRecipe(), { consumed: (step) => (step === 1 ? 19 : 20) });
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      const failure = await failureOf(handle.result());
      expect(failure.type).toBe('RowCountMismatch');
      expect(failure.message).toMatch(/step 1 of (relax|vime): .*generated 20, transferred 20.*consumed 19/);
      expect(books.count('stopEngine')).toBe(2);
      expect((await handle.query<Progress>('progress')).state).toBe('failed');
    });
  });

  it('does not retry what the table says is not retried, and stops the other arm with it', async () => {
    const books = new BookKeeping(testRecipe({ grpo: { steps: 50 } }));
    books.fail('convertRollouts:train-vime:1', 'ConversionFailed', 1, false);
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      expect((await failureOf(handle.result())).type).toBe('ConversionFailed');
      expect(books.count('convertRollouts:train-vime:1')).toBe(1);
      expect(books.count('trainStep:train-relax')).toBeLessThan(50);
      expect(books.count('stopEngine:train-relax')).toBe(1);
    });
  });

  it('waits for a decision when the recipe says so: refuses nonsense, tries again on retry, and ends on abort', async () => {
    const books = new BookKeeping(testRecipe({ onHalt: 'wait' }));
    books.fail('convertRollouts:train-vime:1', 'ConversionFailed', 2, false);
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await expect(handle.executeUpdate('decide', { args: [{ action: 'retry' }] })).rejects.toThrow(
        WorkflowUpdateFailedError
      );
      const halted = async (): Promise<boolean> => (await handle.query<Progress>('progress')).state === 'halted';
      await until(halted, 'the pipeline is halted');
      const progress = await handle.query<Progress>('progress');
      expect(progress.halt).toMatchObject({ stage: 'train:vime', type: 'ConversionFailed' });
      await expect(handle.executeUpdate('decide', { args: [{ action: 'dance' }] })).rejects.toThrow(
        WorkflowUpdateFailedError
      );
      const answer = await handle.executeUpdate<string, [object]>('decide', {
        args: [{ action: 'retry', note: 'looked at it' }],
      });
      expect(answer).toContain('train:vime is tried again');
      await until(() => books.count('convertRollouts:train-vime:1') === 2, 'the stage was tried again');
      await until(halted, 'the pipeline is halted again');
      await handle.executeUpdate('decide', { args: [{ action: 'abort' }] });
      expect((await failureOf(handle.result())).type).toBe('ConversionFailed');
    });
  });

  it('cancels cleanly in the middle of a step: the activity sees it and the engine is stopped', async () => {
    const books = new BookKeeping(testRecipe());
    let reached = 0;
    books.onCall = async (key, signal) => {
      if (!key.startsWith('trainStep:train-relax:1')) return;
      reached += 1;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    };
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await until(() => reached > 0, 'the step is running');
      await handle.cancel();
      expect(await failureOf(handle.result())).toBeInstanceOf(CancelledFailure);
      expect(books.count('stopEngine:train-relax')).toBe(1);
      expect((await handle.query<Progress>('progress')).state).toBe('cancelled');
    });
  });

  it('continues as new at the recipe’s interval without losing or repeating a step', async () => {
    const books = new BookKeeping(
      testRecipe({ grpo: { steps: 7 }, limits: { continueAsNewEvery: 3 }, arms: { relax: { flavour: 'relax' } } })
    );
    const all = books.all();
    const finished = new Set<number>();
    const openArm = all.openArm;
    all.openArm = async (args) => ({
      ...(await openArm(args)),
      nextStep: args.phase === 'train' ? finished.size : 0,
      rewards: [],
    });
    const trainStep = all.trainStep;
    all.trainStep = async (args) => {
      const result = await trainStep(args);
      if (args.phase === 'train') finished.add(args.step);
      return result;
    };
    books.all = () => all;
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await handle.result();
      expect(books.count('openArm:train-relax')).toBe(3);
      expect(
        books.calls.filter((call) => call.startsWith('trainStep:train')).map((call) => call.split(':')[2])
      ).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    });
  });

  it('says which queue has no worker', async () => {
    const books = new BookKeeping(
      testRecipe({ placement: { data: `d${Date.now()}`, rollout: 'a', train: 'a', convert: 'a', evaluate: 'a' } })
    );
    const elsewhere = new BookKeeping(testRecipe());
    await withWorkers(environment, elsewhere, async () => {
      const handle = await startPipeline(environment, books);
      await until(async () => {
        const progress = await handle.query<Progress>('progress');
        return progress.stages.some((stage) => stage.note?.includes('no worker polls data@d') === true);
      }, 'the note is there');
      await handle.terminate('end of the test');
    });
  });

  it('keeps a step under 50 events and 10 KB, and the run’s payloads small', async () => {
    const books = new BookKeeping(testRecipe({ grpo: { steps: 10 }, arms: { relax: { flavour: 'relax' } } }));
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await handle.result();
      const child = environment.client.workflow.getHandle(`${handle.workflowId}/train-relax`);
      const history = await child.fetchHistory();
      const bytes = Buffer.byteLength(JSON.stringify(history));
      expect((history.events?.length ?? 0) / 10).toBeLessThan(50);
      expect(bytes / 10).toBeLessThan(40_000);
    });
  });

  it('goes on with the request errors that are left when the evaluation’s budget is used up', async () => {
    const books = new BookKeeping(testRecipe({ arms: { relax: { flavour: 'relax' } } }));
    books.fail('evaluateModel:base:dev', 'EvaluationIncomplete', 3);
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await handle.result();
      expect(books.count('evaluateModel:base:dev:accepted')).toBe(1);
    });
  });
});
