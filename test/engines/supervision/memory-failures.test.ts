import { describe, expect, it } from 'vitest';
import { DEVICE_MEMORY, HOST_MEMORY, RAY_MEMORY, SERVER_SHARE } from '../../../engines/supervision/memory-failures.js';

const LINES: [string, RegExp, string[]][] = [
  [
    'a device',
    DEVICE_MEMORY,
    [
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
      'torch.cuda.OutOfMemoryError: HIP out of memory.',
      'RuntimeError: CUDA error: out of memory',
      'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',
      "transport.cc:12 NCCL WARN Cuda failure 2 'out of memory'",
      'OutOfMemoryError: engine core',
    ],
  ],
  [
    'a server’s share of a device',
    SERVER_SHARE,
    [
      'ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.',
      'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.',
      'RuntimeError: Not enough memory. Please try to decrease --mem-fraction-static.',
      'ValueError: Free memory on device (3.1/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).',
    ],
  ],
  [
    'a host, by Ray',
    RAY_MEMORY,
    [
      'ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.',
      '1 Workers killed due to memory pressure (OOM), 0 Workers crashed due to other reasons',
    ],
  ],
  [
    'a host',
    HOST_MEMORY,
    [
      "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.",
      'DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes.',
      'OSError: [Errno 12] Cannot allocate memory',
      'MemoryError',
      'numpy.core._exceptions._ArrayMemoryError: x\nMemoryError: Unable to allocate 8 GiB',
      "terminate called after throwing an instance of 'std::bad_alloc'",
      'Unexpected bus error. This might be caused by insufficient shared memory (shm).',
    ],
  ],
];

describe.each(LINES)('too little memory of %s', (_what, pattern, lines) => {
  it.each(lines)('is known by: %s', (line) => {
    expect(LINES.filter(([, other]) => other.test(line)).map(([, other]) => other)).toEqual([pattern]);
  });
});

it('ordinary lines are none of it', () => {
  for (const line of ['CUDA memory: 3 GiB', 'memory usage is fine', 'is_memory_error=False', 'out of 100 samples'])
    expect(LINES.some(([, pattern]) => pattern.test(line))).toBe(false);
});
