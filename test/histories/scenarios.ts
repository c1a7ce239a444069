import type { WorkflowHandle } from '@temporalio/client';
import type { PipelineState, Progress } from '../../shared/contracts/progress.js';
import { BookKeeping, testRecipe, until } from '../workflows/support.js';

/** One way a run can go: what happens to its activities and what the operator does. */
export interface Scenario {
  books: () => BookKeeping;
  act: (handle: WorkflowHandle, books: BookKeeping) => Promise<void>;
  /** Children whose histories are kept beside the pipeline's own. */
  children: string[];
}

const ONE_ARM = {
  arms: { relax: { flavour: 'relax' } },
  grpo: { steps: 2, checkpointEvery: 2 },
  limits: { heartbeatSeconds: 2 },
};

function booksOf(changes: object = {}, arrange: (books: BookKeeping) => void = () => undefined): () => BookKeeping {
  return () => {
    const books = new BookKeeping(testRecipe({ ...ONE_ARM, ...changes }));
    arrange(books);
    return books;
  };
}

async function ended(handle: WorkflowHandle): Promise<void> {
  await handle.result().catch(() => undefined);
}

async function inState(handle: WorkflowHandle, state: PipelineState): Promise<void> {
  await until(async () => (await handle.query<Progress>('progress')).state === state, `the run is ${state}`, 120_000);
}

/** Decides each time the run stands still, then waits for its end. */
function decides(state: PipelineState, ...decisions: object[]): Scenario['act'] {
  return async (handle) => {
    for (const decision of decisions) {
      await inState(handle, state);
      await handle.executeUpdate('decide', { args: [decision] });
    }
    await ended(handle);
  };
}

/** A failure of one activity: `times` in a row. */
function fails(key: string, type: string, times: number, changes: object = {}): () => BookKeeping {
  return booksOf(changes, (books) => books.fail(key, type, times));
}

/** Cancelled while an activity runs. */
function cancelledDuring(key: string): Scenario {
  let reached = false;
  const books = booksOf({}, (made) => {
    made.onCall = async (call, signal) => {
      if (!call.startsWith(key)) return;
      reached = true;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    };
  });
  return {
    books,
    children: [],
    act: async (handle) => {
      await until(() => reached, `${key} runs`, 120_000);
      await handle.cancel();
      await ended(handle);
    },
  };
}

const halted = { onHalt: 'wait' };
const trained = ['train-relax'];

export const SCENARIOS: Record<string, Scenario> = {
  happy: { books: booksOf(), act: ended, children: ['smoke-relax', 'train-relax', 'evaluate'] },
  'generation-retried': {
    books: fails('generateRollouts:train-relax:1', 'GenerationFailed', 2),
    act: ended,
    children: trained,
  },
  'generation-exhausted': {
    books: fails('generateRollouts:train-relax:0', 'GenerationFailed', 5),
    act: ended,
    children: trained,
  },
  'engine-lost': { books: fails('trainStep:train-relax:0', 'EngineUnavailable', 2), act: ended, children: trained },
  stalled: { books: fails('trainStep:train-relax:1', 'Stalled', 1), act: ended, children: trained },
  'storage-full': {
    books: fails('prepareData', 'StorageFailed', 8, halted),
    act: decides('halted', { action: 'retry', note: 'freed space' }),
    children: [],
  },
  'out-of-memory': {
    books: fails('trainStep:train-relax:0', 'OutOfMemory', 1, { oomFallback: { rolloutConcurrency: 8 } }),
    act: ended,
    children: trained,
  },
  'out-of-memory-final': { books: fails('trainStep:train-relax:0', 'OutOfMemory', 1), act: ended, children: trained },
  'recipe-invalid': { books: fails('resolveRecipe', 'RecipeInvalid', 1), act: ended, children: [] },
  'pin-mismatch': { books: fails('resolveRecipe', 'PinMismatch', 1), act: ended, children: [] },
  'data-invalid': { books: fails('prepareData', 'DataInvalid', 1), act: ended, children: [] },
  'conversion-halted-retry': {
    books: fails('convertRollouts:train-relax:1', 'ConversionFailed', 1, halted),
    act: decides('halted', { action: 'retry' }),
    children: trained,
  },
  'loss-halted-abort': {
    books: fails('trainStep:train-relax:1', 'NonFiniteLoss', 1, halted),
    act: decides('halted', { action: 'abort', note: 'learning rate' }),
    children: trained,
  },
  'checkpoint-halted-from-stage': {
    books: fails('convertCheckpoint:relax', 'CheckpointInvalid', 1, halted),
    act: decides('halted', { action: 'retryFromStage', stage: 'train:relax' }),
    children: [],
  },
  'halt-deadline': {
    books: fails('convertCheckpoint:relax', 'CheckpointInvalid', 1, {
      ...halted,
      limits: { heartbeatSeconds: 2, decisionHours: 0.0005 },
    }),
    act: ended,
    children: [],
  },
  'rows-lost': {
    books: () => new BookKeeping(testRecipe(ONE_ARM), { consumed: (step) => (step === 1 ? 19 : 20) }),
    act: ended,
    children: ['smoke-relax'],
  },
  'evaluation-incomplete': {
    books: fails('evaluateModel:base:dev', 'EvaluationIncomplete', 3),
    act: ended,
    children: ['evaluate'],
  },
  'paused-continue': {
    books: booksOf({ pauseAfter: ['smoke', 'evaluate'] }),
    act: decides('paused', { action: 'continue' }, { action: 'continue' }),
    children: [],
  },
  'paused-from-data': {
    books: booksOf({ pauseAfter: 'judge' }),
    act: decides('paused', { action: 'retryFromStage', stage: 'data' }, { action: 'continue' }),
    children: [],
  },
  'paused-abort': { books: booksOf({ pauseAfter: 'data' }), act: decides('paused', { action: 'abort' }), children: [] },
  'webhook-refused': {
    books: booksOf({ notify: { webhook: 'http://127.0.0.1:1/', secretEnv: 'MEMAGENT_TEST_SECRET_THAT_IS_NOT_SET' } }),
    act: ended,
    children: [],
  },
  'cancelled-data': cancelledDuring('prepareData'),
  'cancelled-train': { ...cancelledDuring('trainStep:train-relax:0'), children: trained },
  'cancelled-evaluate': { ...cancelledDuring('evaluateModel:relax:dev'), children: ['evaluate'] },
  'cancelled-halted': {
    books: fails('convertCheckpoint:relax', 'CheckpointInvalid', 1, halted),
    act: async (handle) => {
      await inState(handle, 'halted');
      await handle.cancel();
      await ended(handle);
    },
    children: [],
  },
  'continue-as-new': {
    books: booksOf({ grpo: { steps: 5, checkpointEvery: 5 }, limits: { heartbeatSeconds: 2, continueAsNewEvery: 2 } }, (books) => {
      books.options.resumes = true;
    }),
    act: ended,
    children: trained,
  },
  reuse: {
    books: booksOf({}, (books) => {
      books.options.reuses = true;
    }),
    act: ended,
    children: ['train-relax', 'evaluate'],
  },
};
