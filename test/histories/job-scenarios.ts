import type { TrainingJobArgs } from '../../shared/contracts/activities.js';
import { JobBooks, jobArm, jobRecipe, type JobAnswer } from '../workflows/job-books.js';
import { fault } from './record.js';
import { cancelledDuring, decides, ended, type Scenario } from './scenario.js';

const SHORT = {
  grpo: { steps: 2, checkpointEvery: 2 },
  limits: { heartbeatSeconds: 2 },
};

type Answer = (args: TrainingJobArgs, call: number) => JobAnswer;

function jobs(changes: object = {}, answer?: Answer, options: JobBooks['options'] = {}): () => JobBooks {
  return () => new JobBooks(jobRecipe({ ...SHORT, ...changes }), answer, options);
}

/** What the second slice of the train run says the first time it is asked. */
function once(answer: JobAnswer, later: JobAnswer = {}): Answer {
  let asked = 0;
  return ({ phase, fromStep }) => {
    if (phase !== 'train' || fromStep !== 1) return {};
    asked += 1;
    return asked === 1 ? answer : later;
  };
}

/** A failure of another activity than the job's. */
function fails(key: string, type: string): () => JobBooks {
  return () => {
    const books = jobs()();
    books.fail(key, type);
    return books;
  };
}

const trained = ['train-relax'];
const halted = { onHalt: 'wait' };

/** The ways of a run whose arms are trained by jobs. */
export const JOB_SCENARIOS: Record<string, Scenario> = {
  'jobs-happy': {
    books: jobs({ arms: { relax: jobArm('relax'), vime: jobArm('vime') } }),
    act: ended,
    children: ['smoke-relax', 'smoke-vime', 'train-relax', 'train-vime', 'evaluate'],
  },
  /** The job dies in step 1; the next one begins again at step 0, whose reward it gives anew. */
  'job-resumed': {
    books: jobs(
      {},
      once(fault('EngineUnavailable', false), { submissionId: 'relax-2', rewardsFrom: 0, rewards: [0.4, 0.6] })
    ),
    act: ended,
    children: trained,
  },
  'job-stalled': { books: jobs({}, once(fault('Stalled', false))), act: ended, children: trained },
  'job-out-of-memory': {
    books: jobs({ oomFallback: { tokensPerGpu: 4608 } }, once(fault('OutOfMemory', false))),
    act: ended,
    children: trained,
  },
  /** The worker that follows the job is gone without a word: its heartbeat time-out says so. */
  'job-host-lost': { books: jobs({}, once('silent')), act: ended, children: trained },
  'job-gate-refused': {
    books: fails('closeArm:smoke-relax', 'RowCountMismatch'),
    act: ended,
    children: ['smoke-relax'],
  },
  'job-preflight-refused': { books: fails('preflight', 'PinMismatch'), act: ended, children: ['smoke-relax'] },
  'job-cancelled': { ...cancelledDuring('runTrainingJob:train-relax:1', jobs()), children: trained },
  'job-halted-retry': {
    books: jobs(halted, once(fault('CheckpointInvalid', true))),
    act: decides('halted', { action: 'retry', note: 'the torn checkpoint is gone' }),
    children: trained,
  },
  'job-waited': {
    books: jobs({}, (_args, call) => (call === 1 ? { waitingFor: 'the train run of vime in another-run' } : {})),
    act: ended,
    children: ['smoke-relax'],
  },
  'job-continue-as-new': {
    books: jobs(
      { grpo: { steps: 3, checkpointEvery: 3 }, limits: { heartbeatSeconds: 2, continueAsNewEvery: 2 } },
      undefined,
      { resumes: true }
    ),
    act: ended,
    children: trained,
  },
};
