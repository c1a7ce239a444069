import { Worker } from 'node:worker_threads';
import { PipelineError } from '../contracts/pipeline-error.js';
import { entryPath } from '../runtime/entry.js';
import type { JobKind, PoolJob, PoolJobs, WorkerData, WorkerReply } from './pool-jobs.js';
import type { Tokenizer } from './types.js';

/**
 * Texts with more UTF-16 units than this are tokenized in a worker thread: below it, even a text of words never seen
 * before takes less than the 50 ms for which the event loop may wait.
 */
export const LARGE_TEXT = 20_000;

const WORKER_ENTRY = 'shared/tokenizer/worker.js';

export interface TokenizerPoolOptions {
  /** Folder of the tokenizer files. */
  directory: string;
  /** Worker threads at most; they start when needed. Default 1. */
  size?: number;
  /** Jobs waiting at most; more are refused. Default 4096. */
  maxQueued?: number;
  /** Absolute path of the worker's program. Default: the compiled `worker.js` of this folder. */
  entry?: string;
}

interface Task {
  job: PoolJob;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Tokenizes large texts in worker threads, each with its own tokenizer. */
export class TokenizerPool {
  readonly #directory: string;
  readonly #size: number;
  readonly #maxQueued: number;
  readonly #entry: string | undefined;
  readonly #queue: Task[] = [];
  readonly #running = new Map<Worker, Task | undefined>();
  #closed = false;

  constructor({ directory, size = 1, maxQueued = 4096, entry }: TokenizerPoolOptions) {
    this.#directory = directory;
    this.#size = size;
    this.#maxQueued = maxQueued;
    this.#entry = entry;
  }

  /** Worker threads that are alive. */
  get workers(): number {
    return this.#running.size;
  }

  /**
   * Does one job. A worker that dies fails its job only; the next job gets a new worker.
   *
   * @param signal takes the job out of the queue; one that is being done is finished, but its result is not waited for
   * @throws PipelineError of the job, GenerationFailed when the worker died or the queue is full; the signal's reason
   */
  run<Kind extends JobKind>(
    job: PoolJobs[Kind]['job'] & { kind: Kind },
    signal?: AbortSignal
  ): Promise<PoolJobs[Kind]['result']> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (this.#closed) return reject(poolError('the tokenizer’s worker threads are closed'));
      if (this.#queue.length >= this.#maxQueued)
        return reject(
          poolError(`${this.#queue.length} texts are waiting for the tokenizer already: lower the concurrency`)
        );
      const task: Task = {
        job,
        resolve: (result) => settle(() => resolve(result as PoolJobs[Kind]['result'])),
        reject: (error) => settle(() => reject(error as Error)),
      };
      const onAbort = (): void => {
        const at = this.#queue.indexOf(task);
        if (at >= 0) this.#queue.splice(at, 1);
        task.reject(signal?.reason);
      };
      const settle = (deliver: () => void): void => {
        signal?.removeEventListener('abort', onAbort);
        deliver();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(task);
      this.#dispatch();
    });
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      let worker: Worker | undefined;
      try {
        worker = this.#idleWorker();
      } catch (error) {
        this.#queue.shift()?.reject(error);
        continue;
      }
      if (worker === undefined) return;
      const task = this.#queue.shift() as Task;
      this.#running.set(worker, task);
      worker.ref();
      worker.postMessage(task.job);
    }
  }

  #idleWorker(): Worker | undefined {
    for (const [worker, task] of this.#running) if (task === undefined) return worker;
    return this.#running.size < this.#size ? this.#start() : undefined;
  }

  #start(): Worker {
    const workerData: WorkerData = { directory: this.#directory };
    const worker = new Worker(this.#entry ?? entryPath(WORKER_ENTRY), { workerData });
    let cause: unknown;
    worker.on('message', (reply: WorkerReply) => this.#finish(worker, reply));
    worker.on('error', (error) => (cause = error));
    worker.on('exit', (code) => this.#lost(worker, cause ?? new Error(`exit code ${code}`)));
    this.#running.set(worker, undefined);
    return worker;
  }

  #finish(worker: Worker, reply: WorkerReply): void {
    const task = this.#running.get(worker);
    this.#running.set(worker, undefined);
    // An idle worker must not keep the process alive.
    worker.unref();
    if (!reply.ok) task?.reject(new PipelineError(reply.type ?? 'GenerationFailed', reply.message, reply.details));
    else task?.resolve(reply.result instanceof Uint32Array ? Array.from(reply.result) : reply.result);
    this.#dispatch();
  }

  #lost(worker: Worker, cause: unknown): void {
    const task = this.#running.get(worker);
    this.#running.delete(worker);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const error = this.#closed
      ? poolError('the tokenizer’s worker threads were closed')
      : poolError(`the tokenizer’s worker thread died while it worked on a text: ${reason}`, cause);
    task?.reject(error);
    this.#dispatch();
  }

  /** Ends all workers; jobs not done yet are rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const task of this.#queue.splice(0)) task.reject(poolError('the tokenizer’s worker threads were closed'));
    await Promise.all([...this.#running.keys()].map((worker) => worker.terminate()));
  }
}

function poolError(message: string, cause?: unknown): PipelineError {
  return new PipelineError('GenerationFailed', message, {}, { cause });
}

const pools = new Map<string, TokenizerPool>();

/** The pool of a tokenizer, shared by this thread; its worker starts with the first large text. */
export function poolFor(tokenizer: Tokenizer): TokenizerPool {
  let pool = pools.get(tokenizer.contentKey);
  if (pool === undefined) {
    pool = new TokenizerPool({ directory: tokenizer.directory });
    pools.set(tokenizer.contentKey, pool);
  }
  return pool;
}

/** Ends the worker threads of all shared pools; a later large text starts new ones. */
export async function closeTokenizerPools(): Promise<void> {
  const open = [...pools.values()];
  pools.clear();
  await Promise.all(open.map((pool) => pool.close()));
}
