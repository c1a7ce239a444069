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

const SCREENED = { data: { generate: {}, screening: { train: 4 } }, arms: { relax: { flavour: 'relax' } } };

describe('a pipeline with Pass@N screening', () => {
  it('screens once between data and smoke gate, and stops the served model whatever comes of it', async () => {
    const books = new BookKeeping(testRecipe(SCREENED));
    books.fail('screenData', 'EvaluationIncomplete', 1);
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await handle.result();
      const progress = await handle.query<Progress>('progress');
      expect(progress.stages.slice(0, 4).map(({ name, state }) => [name, state])).toEqual([
        ['resolve', 'done'],
        ['data', 'done'],
        ['screen', 'done'],
        ['smoke:relax', 'done'],
      ]);
      expect(progress.attempts).toMatchObject([{ stage: 'screen', activity: 'screenData' }]);
      expect(progress.artifacts.map(({ path }) => path)).toContain('screening/screening.json');
    });
    const order = ['prepareData', 'screenData', 'screenData', 'stopServing:screening', 'openArm:smoke-relax'];
    expect(books.calls.filter((call) => order.includes(call))).toEqual(order);
  });

  it('fails at once when too few prompts are usable', async () => {
    const books = new BookKeeping(testRecipe(SCREENED));
    books.fail('screenData', 'DataInvalid', 1, false);
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      await expect(handle.result()).rejects.toThrow();
      expect(books.calls.filter((call) => call.startsWith('stopServing'))).toEqual(['stopServing:screening']);
      expect(books.count('openArm')).toBe(0);
    });
  });

  it('makes the screening and all that follows anew when the operator goes back to it', async () => {
    const books = new BookKeeping(testRecipe({ ...SCREENED, pauseAfter: 'smoke' }));
    await withWorkers(environment, books, async () => {
      const handle = await startPipeline(environment, books);
      const paused = async (): Promise<boolean> => (await handle.query<Progress>('progress')).state === 'paused';
      await until(paused, 'the pause');
      await handle.executeUpdate('decide', { args: [{ action: 'retryFromStage', stage: 'screen' }] });
      await until(async () => books.count('openArm:smoke') === 2 && (await paused()), 'the second pause');
      await handle.executeUpdate('decide', { args: [{ action: 'continue' }] });
      await handle.result();
    });
    expect([books.count('prepareData'), books.count('setStageAside:screen'), books.count('screenData')]).toEqual([
      1, 1, 2,
    ]);
  });
});
