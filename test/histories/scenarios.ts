import { BookKeeping, testRecipe } from '../workflows/support.js';
import { JOB_SCENARIOS } from './job-scenarios.js';
import { cancelledDuring, decides, ended, inState, type Scenario } from './scenario.js';

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

/** A failure of one activity: `times` in a row. */
function fails(key: string, type: string, times: number, changes: object = {}): () => BookKeeping {
  return booksOf(changes, (books) => books.fail(key, type, times));
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
  'cancelled-data': cancelledDuring('prepareData', booksOf()),
  'cancelled-train': { ...cancelledDuring('trainStep:train-relax:0', booksOf()), children: trained },
  'cancelled-evaluate': { ...cancelledDuring('evaluateModel:relax:dev', booksOf()), children: ['evaluate'] },
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
  ...JOB_SCENARIOS,
};
