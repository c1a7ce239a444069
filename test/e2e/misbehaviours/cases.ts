import type { FailureType } from '../../../shared/contracts/failures.js';
import type { PipelineState } from '../../../shared/contracts/progress.js';
import type { Flavour } from '../../../engines/ray/types.js';

/** A misbehaviour of the programs that imitate the frameworks, and what it must end in. */
export interface Misbehaviour {
  /** What the program is asked for (`IMITATE`); the last one is the one that is judged. */
  imitate: string;
  flavour: Flavour;
  /** For the reader: what goes wrong. */
  what: string;
  /** Class of every failed attempt, in order; none where nothing is wrong. */
  types: FailureType[];
  /** State of the pipeline afterwards. */
  state: Extract<PipelineState, 'completed' | 'halted' | 'failed'>;
  /** First step of the job after the failed one, where there is one. */
  resumedAt?: number;
  /** Steps of the training run and time of each, where the usual ones would not show it. Unit: seconds. */
  steps?: { count: number; seconds: number };
  /** Run with every `make test`: no other test shows it through the whole pipeline. */
  always?: true;
}

/** Checkpoints are made after the steps 1, 3, 5: whatever goes on after step 3 went wrong, goes on at step 2. */
const AFTER_CHECKPOINT = 2;
/** Long enough that the job is still under way when it is judged. */
const LONG = { count: 30, seconds: 0.3 };

export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  {
    imitate: 'hang-once@3',
    flavour: 'relax',
    what: 'a step never ends, health lines go on',
    types: ['Stalled'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'hang-once@3',
    flavour: 'vime',
    what: 'a step never ends, health lines go on',
    types: ['Stalled'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'cuda-oom@3',
    flavour: 'relax',
    what: 'a GPU runs out of memory',
    types: ['OutOfMemory'],
    state: 'halted',
    always: true,
  },
  {
    imitate: 'cuda-oom@3',
    flavour: 'vime',
    what: 'a GPU runs out of memory',
    types: ['OutOfMemory'],
    state: 'halted',
  },
  {
    imitate: 'host-oom@3',
    flavour: 'vime',
    what: 'the host kills the driver (SIGKILL), without a word in the log',
    types: ['OutOfMemory'],
    state: 'halted',
  },
  {
    imitate: 'save-oom@3',
    flavour: 'relax',
    what: 'host memory runs out while a checkpoint is saved',
    types: ['OutOfMemory'],
    state: 'halted',
  },
  {
    imitate: 'nccl-timeout-once@3',
    flavour: 'vime',
    what: 'NCCL’s watchdog ends a collective operation',
    types: ['Stalled'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'assertion-once@3',
    flavour: 'relax',
    what: 'the framework stops at one of its own checks',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'node-died-once@3',
    flavour: 'relax',
    what: 'a node of the cluster dies',
    types: ['HostLost'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
    always: true,
  },
  {
    imitate: 'port-in-use-once',
    flavour: 'relax',
    what: 'a port is taken when a job starts: once in the smoke run, once in training',
    types: ['EngineUnavailable', 'EngineUnavailable'],
    state: 'completed',
    resumedAt: 0,
  },
  {
    imitate: 'exit-zero@3',
    flavour: 'relax',
    what: 'exit code 0 before the last step',
    types: ['CheckpointInvalid'],
    state: 'halted',
  },
  {
    imitate: 'torn-checkpoint-once@3',
    flavour: 'vime',
    what: 'a checkpoint lacks a shard that the tracker file names, and the job dies',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'half-saved-once@3',
    flavour: 'relax',
    what: 'the job dies in the middle of a save',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'half-saved-once@3',
    flavour: 'vime',
    what: 'the job dies in the middle of a save',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'die-once@3,wrong-step',
    flavour: 'relax',
    what: 'after a death: the job that goes on from the checkpoint passes over a step',
    types: ['EngineUnavailable', 'CheckpointInvalid'],
    state: 'halted',
    resumedAt: AFTER_CHECKPOINT,
    always: true,
  },
  {
    imitate: 'die-once@3,duplicates',
    flavour: 'relax',
    what: 'after a death: the job that goes on prints the lines of its earlier steps again',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
    always: true,
  },
  {
    imitate: 'die-once@3,duplicates',
    flavour: 'vime',
    what: 'after a death: the job that goes on prints the lines of its earlier steps again',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
  {
    imitate: 'missing-reward@3',
    flavour: 'relax',
    what: 'a step’s line has no reward',
    types: ['CheckpointInvalid'],
    state: 'halted',
    steps: LONG,
    always: true,
  },
  {
    imitate: 'missing-reward@4',
    flavour: 'vime',
    what: 'the last step but one has no reward: seen when the job is over',
    types: ['CheckpointInvalid'],
    state: 'halted',
  },
  {
    imitate: 'cut-line@3',
    flavour: 'vime',
    what: 'a step’s line is cut in the middle',
    types: ['CheckpointInvalid'],
    state: 'halted',
    steps: LONG,
  },
  {
    imitate: 'conflicting-reward@3',
    flavour: 'vime',
    what: 'a step has two rewards',
    types: ['DataInvalid'],
    state: 'failed',
    steps: LONG,
  },
  {
    imitate: 'bad-reward@3',
    flavour: 'relax',
    what: 'a reward is 1.5',
    types: ['DataInvalid'],
    state: 'failed',
    steps: LONG,
  },
  {
    imitate: 'nan-loss@3',
    flavour: 'relax',
    what: 'loss and gradient are not finite',
    types: ['NonFiniteLoss'],
    state: 'halted',
    steps: LONG,
    always: true,
  },
  {
    imitate: 'die-once@3',
    flavour: 'vime',
    what: 'exit code 1 for a reason that nobody names',
    types: ['EngineUnavailable'],
    state: 'completed',
    resumedAt: AFTER_CHECKPOINT,
  },
];

/** The one that is judged, without its step: `nan-loss`. */
export function nameOf({ imitate }: Misbehaviour): string {
  return (imitate.split(',').at(-1) ?? '').replace(/-once\b/, '').replace(/@\d+$/, '');
}
