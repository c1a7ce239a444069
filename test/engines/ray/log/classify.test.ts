import { describe, expect, it } from 'vitest';
import { classifyJobFailure } from '../../../../engines/ray/log/classify.js';
import type { JobEnd } from '../../../../engines/ray/types.js';

function failed(log: string, exitCode: number | undefined = 1, rest: Partial<JobEnd> = {}): JobEnd {
  const tail = log.split('\n').slice(-10).join('\n');
  return {
    status: 'FAILED',
    message: `Job entrypoint command failed with exit code ${exitCode}, last available logs (truncated to 20,000 chars):\n${tail}`,
    exitCode,
    errorType: undefined,
    logTail: log,
    ...rest,
  };
}

/** Excerpts in the words of PyTorch, Megatron, Ray, SGLang, vLLM and the references. */
const CASES: [name: string, type: string, says: RegExp, log: string, exitCode?: number][] = [
  [
    'a GPU out of memory, before the other ranks time out',
    'OutOfMemory',
    /a GPU ran out of memory/,
    `\u001b[36m(MegatronTrainRayActor pid=4242, ip=10.0.0.8)\u001b[0m     return F.linear(input, weight)
ray.exceptions.RayTaskError(OutOfMemoryError): \u001b[36mray::MegatronTrainRayActor.train()\u001b[39m (pid=4242, ip=10.0.0.8)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.04 GiB is free.
[rank1]:[E804 02:07:08.41 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for 600004 milliseconds before timing out.`,
  ],
  [
    'a rollout engine that finds no memory',
    'OutOfMemory',
    /rollout engine found too little GPU memory/,
    '(VLLMEngine pid=77) ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
  ],
  [
    'Ray’s memory monitor',
    'OutOfMemory',
    /Ray ended a worker/,
    `ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.0.8, ID: 8289f87b) where the task (actor ID: 0b1f, name=RolloutManager.__init__, pid=99, memory used=412.13GB) was running was 891.06GB / 937.50GB (0.950459), which exceeds the memory usage threshold of 0.95.`,
  ],
  [
    'memory of the host while a checkpoint is saved',
    'OutOfMemory',
    /while a checkpoint was saved/,
    `saving checkpoint at iteration      49 to /shared/save in torch_dist format
RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 15518924800 bytes. Error code 12 (Cannot allocate memory)`,
  ],
  ['a kill without a word', 'OutOfMemory', /killed \(SIGKILL\)/, 'Start rollout 3/100', 137],
  ['a kill that Ray reports as a negative number', 'OutOfMemory', /killed \(SIGKILL\)/, 'Start rollout 3/100', -9],
  [
    'a full disk',
    'StorageFailed',
    /could not be written/,
    "OSError: [Errno 28] No space left on device: '/shared/save/iter_0000049/__0_0.distcp'",
  ],
  [
    'a gradient that is not finite',
    'NonFiniteLoss',
    /not finite/,
    "AssertionError: Rank 3, node h100-01, device 3, iteration 12: Unexpected result nan (message='found NaN in local grad norm for bucket #0')",
  ],
  [
    'a checkpoint that is not there',
    'CheckpointInvalid',
    /missing or torn/,
    "FileNotFoundError: [Errno 2] No such file or directory: '/shared/save/iter_0000049/common.pt'",
  ],
  [
    'a torn checkpoint',
    'CheckpointInvalid',
    /missing or torn/,
    'megatron.core.dist_checkpointing.core.CheckpointingException: /shared/save/iter_0000049 is not a distributed checkpoint',
  ],
  [
    'rows that the data-parallel size does not divide',
    'ConversionFailed',
    /training rows/,
    'ERROR | relax.utils.utils:430 Error transferring batch 0: Expanded MemAgent row count 1087 is not divisible by mem_agent_train_rows_multiple=4.',
  ],
  [
    'a node that died',
    'HostLost',
    /a node of the cluster was lost/,
    `ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.
\tclass_name: MegatronTrainRayActor
\tip: 10.0.0.9
The actor died because its node has died. Node Id: 72ae9450cf4c107fe40f
\tthe actor's node was terminated unexpectedly: health check failed due to missing too many heartbeats`,
  ],
  [
    'an NCCL time-out',
    'Stalled',
    /collective operation/,
    '[rank0]:[E321 02:07:08.40 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=BROADCAST, NumelIn=112, NumelOut=112, Timeout(ms)=1800000) ran for 1800010 milliseconds before timing out.',
    134,
  ],
  [
    'a connection between GPUs that broke',
    'EngineUnavailable',
    /NCCL/,
    'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, remote process exited or there was a network error, ncclRemoteError: A call failed possibly due to a network error',
  ],
  [
    'a port in use',
    'EngineUnavailable',
    /a port is taken/,
    "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
  ],
  [
    'SGLang’s port in use',
    'EngineUnavailable',
    /a port is taken/,
    'RuntimeError: scheduler_input_port at 15855 is not available in 120 seconds. holder=ray::MegatronTrainRayActor',
  ],
  [
    'a flag that the framework does not know',
    'PinMismatch',
    /not the pinned commit/,
    'train.py: error: unrecognized arguments: --custom-convert-samples-to-train-data-path x',
    2,
  ],
  [
    'a module that is not there',
    'PinMismatch',
    /module is missing/,
    "ModuleNotFoundError: No module named 'examples.mem_agent'",
  ],
  ['an assertion', 'EngineUnavailable', /own checks/, 'AssertionError: loss mask length 12 != response length 13'],
  ['nothing that is known', 'EngineUnavailable', /does not name/, 'KeyError: 3', 1],
];

describe('a job that failed', () => {
  it.each(CASES)('by %s is %s', (_name, type, says, log, exitCode) => {
    const failure = classifyJobFailure(failed(log, exitCode));
    expect(failure.type).toBe(type);
    expect(failure.message).toMatch(says);
    expect(failure.message).toContain(`exit code ${exitCode ?? 1}`);
    expect(failure.evidence.length).toBeGreaterThan(0);
    expect(failure.evidence.every((line) => line.length <= 301 && !line.includes('\u001b'))).toBe(true);
  });

  it.each([
    [
      'runtime_env setup failed: Failed to set up runtime environment.\nCould not unpack',
      undefined,
      'EngineUnavailable',
    ],
    ['Unexpected error occurred: The actor died unexpectedly before finishing this task.', undefined, 'HostLost'],
    ['Job supervisor actor could not be scheduled: The actor is not schedulable', undefined, 'EngineUnavailable'],
    ['whatever', 'JOB_SUPERVISOR_ACTOR_DIED', 'HostLost'],
  ])('before or beside its command is judged by Ray’s own word: %s', (message, errorType, type) => {
    expect(classifyJobFailure(failed('', undefined, { message, errorType }))).toMatchObject({ type });
  });

  it('because somebody stopped it is judged by that, whatever it printed before', () => {
    const failure = classifyJobFailure(
      failed('OSError: [Errno 98] Address already in use', undefined, {
        status: 'STOPPED',
        message: 'Job was intentionally stopped.',
      })
    );
    expect(failure).toMatchObject({ type: 'EngineUnavailable', message: 'somebody stopped the job' });
  });

  it('though it ended well says so', () => {
    const failure = classifyJobFailure(
      failed('Main func successfully', 0, { status: 'SUCCEEDED', message: 'Job finished successfully.' })
    );
    expect(failure.message).toBe('the job ended well by its own account, before its last step');
  });

  it('is judged at once also from a log of many megabytes in one line', () => {
    const failure = classifyJobFailure(failed(`${'Error '.repeat(2_000_000)}\nAssertionError`));
    expect(failure).toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringContaining('own checks') as string,
    });
  });
});
