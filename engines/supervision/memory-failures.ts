/**
 * What programs of an engine write when memory runs out, by what ran out: PyTorch's, CUDA's, SGLang's, vLLM's, Ray's, Python's and
 * C++'s words. Patterns look at one line each (`m` for a whole log), and have no nested repetition.
 */

/** A device's memory, used up by a program of the engine itself. */
export const DEVICE_MEMORY =
  /CUDA (?:error: )?out of memory|(?<!ray\.exceptions\.)OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|Cuda failure 2 'out of memory'/i;

/** A device's memory that an inference server found too small for its share, before it served. */
export const SERVER_SHARE =
  /No available memory for the cache blocks|Not enough memory\. Please try to (?:increase|decrease) --mem-fraction-static|Free memory on device .{1,200} is less than desired GPU memory utilization/i;

/** A host's memory, of which Ray ended a process. */
export const RAY_MEMORY =
  /Task was killed due to the node running low on memory|killed due to memory pressure \(OOM\)|ray\.exceptions\.OutOfMemoryError/;

/** A host's memory. */
export const HOST_MEMORY =
  /DefaultCPUAllocator: (?:can't |cannot |not enough )|Cannot allocate memory|^MemoryError\b|\bMemoryError: |std::bad_alloc|insufficient shared memory \(shm\)/im;
