import type { FailureType } from '../../../shared/contracts/failures.js';
import { DEVICE_MEMORY, HOST_MEMORY, RAY_MEMORY, SERVER_SHARE } from '../../supervision/memory-failures.js';

/** Words by which a cause is known in a job's log or in Ray's message. */
export interface FailureSignature {
  type: FailureType;
  pattern: RegExp;
  /** What happened and what helps, for the user. */
  says: string;
}

/**
 * Causes in the order in which they explain a failure: a rank that ran out of memory makes the others' collectives time out, so
 * memory stands before NCCL. The texts are PyTorch's, Megatron's, Ray's, SGLang's, vLLM's and the references' own. Patterns look
 * at one line and have no nested repetition.
 */
export const FAILURE_SIGNATURES: readonly FailureSignature[] = [
  {
    type: 'OutOfMemory',
    pattern: DEVICE_MEMORY,
    says: 'a GPU ran out of memory: give fewer tokens per GPU (cluster.tokensPerGpu), more tensor parallelism, or declare oomFallback',
  },
  {
    type: 'OutOfMemory',
    pattern: SERVER_SHARE,
    says: 'the rollout engine found too little GPU memory: other programs use the device, or its share is too small for this model',
  },
  {
    type: 'OutOfMemory',
    pattern: RAY_MEMORY,
    says: 'a host ran out of memory and Ray ended a worker: more memory per node, or fewer processes on it',
  },
  {
    type: 'OutOfMemory',
    pattern: HOST_MEMORY,
    says: 'a host ran out of memory: more memory (or a larger /dev/shm) per node, or fewer processes on it',
  },
  {
    type: 'StorageFailed',
    pattern: /No space left on device|Disk quota exceeded|Read-only file system|OutOfDiskError/,
    says: 'a file could not be written: free space where the message says, then retry',
  },
  {
    type: 'NonFiniteLoss',
    pattern:
      /found NaN in local (?:grad norm|forward loss)|found Inf in local (?:grad norm|forward loss)|Unexpected result nan/i,
    says: 'loss or gradient was not finite',
  },
  {
    type: 'CheckpointInvalid',
    pattern:
      /could not find the metadata file|CheckpointingException|PytorchStreamReader failed|corrupt(?:ed)? checkpoint|is not a distributed checkpoint|latest_checkpointed_iteration\.txt.{0,80}(?:not found|No such file)|No such file or directory: '[^']{0,400}(?:iter_\d{7}|common\.pt|\.metadata)/,
    says: 'a checkpoint could not be read: it is missing or torn',
  },
  {
    type: 'ConversionFailed',
    pattern:
      /Expanded MemAgent row count|inconsistent turn counts|Reward group .{1,40} has .{1,20} samples, expected|misaligned (?:loss_mask|rollout_log_probs)|Storage capacity exceeded/,
    says: 'trajectories could not become training rows',
  },
  {
    type: 'GenerationFailed',
    pattern: /Cannot train from sample index=|MemAgent converter received an empty sample list/,
    says: 'trajectories were aborted; look at the rollout engine’s lines before it',
  },
  {
    type: 'HostLost',
    pattern:
      /The actor died because its node has died|node .{0,200}has been marked dead|local raylet died|NodeDiedError|GCS is unavailable|failed to connect to GCS/i,
    says: 'a node of the cluster was lost',
  },
  {
    type: 'Stalled',
    pattern:
      /Watchdog caught collective operation timeout|NCCL (?:operation )?timed? ?out|Timed out after \d+ms waiting for .{0,80}recv operation/i,
    says: 'a collective operation of the GPUs timed out: one rank hung or died before',
  },
  {
    type: 'EngineUnavailable',
    pattern: /ncclRemoteError|ncclSystemError|NCCL error in|DistBackendError/,
    says: 'the GPUs lost each other (NCCL): look at the network and at the other ranks',
  },
  {
    type: 'EngineUnavailable',
    pattern:
      /(?:Error|error while attempting to bind)\b.{0,200}\b(?:address already in use|EADDRINUSE)|\[Errno 98\]|port at \d+ is not available/i,
    says: 'a port is taken on a node: a program of an earlier job is still there, or another user’s',
  },
  {
    type: 'PinMismatch',
    pattern: /error: (?:unrecognized arguments|argument --|the following arguments are required|ambiguous option)/,
    says: 'the framework does not know a flag of the launch recipe: its checkout is not the pinned commit',
  },
  {
    type: 'PinMismatch',
    pattern: /ModuleNotFoundError: |ImportError: /,
    says: 'a Python module is missing: the environment is not the one that the pinned commit needs',
  },
  {
    type: 'EngineUnavailable',
    pattern: /CUDA error: |uncorrectable ECC error|Driver\/library version mismatch|No CUDA GPUs are available/,
    says: 'a GPU or its driver failed',
  },
  {
    type: 'EngineUnavailable',
    pattern: /\bAssertionError\b/,
    says: 'the framework stopped at one of its own checks',
  },
  {
    type: 'EngineUnavailable',
    pattern: /ActorDiedError|RayActorError|WorkerCrashedError|The actor (?:died|is dead)/,
    says: 'a process of the framework died',
  },
];
