import { Worker } from 'node:worker_threads';
import { isFailureType } from '../../../shared/contracts/failures.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { entryPath } from '../../../shared/runtime/entry.js';
import type { GenerationRequest, GenerationResult } from '../policy-api.js';
import type { ComputeCall, ComputeOptions, ComputeWorkerData, FromCompute, ModelFacts, ToCompute } from './messages.js';
import { RequestError } from './request-error.js';

/** Outcome of one sequence with the weights it was made by. */
export interface Generated {
  result: GenerationResult;
  weightVersion: string;
}

type OnToken = (tokenId: number, logProb: number) => void;

interface Waiting {
  resolve(value: Generated): void;
  reject(error: Error): void;
  onToken: OnToken | undefined;
}

interface Call {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * The HTTP side of the compute thread. The arithmetic runs in a thread of its own, so that health checks, aborts and slow clients
 * never wait for it and it never waits for them.
 */
export class ComputeThread {
  private readonly waiting = new Map<string, Waiting>();
  private readonly calls = new Map<number, Call>();
  private nextCall = 1;
  private gone: Error | undefined;

  private constructor(
    private readonly worker: Worker,
    private readonly wake: Int32Array,
    readonly facts: ModelFacts,
    private version: string
  ) {}

  /**
   * @param onDeath called once when the thread ends by itself
   * @throws PipelineError with the thread's own type when the model cannot be loaded
   */
  static async start(options: ComputeOptions, onDeath: (error: Error) => void): Promise<ComputeThread> {
    const wake = new SharedArrayBuffer(4);
    const data: ComputeWorkerData = { ...options, wake };
    const worker = new Worker(entryPath('engines/embedded/server/compute-worker.js'), { workerData: data });
    const { facts, weightVersion } = await firstMessage(worker);
    const thread = new ComputeThread(worker, new Int32Array(wake), facts, weightVersion);
    const die = (error: Error): void => {
      if (thread.gone !== undefined) return;
      thread.fail(error);
      onDeath(error);
    };
    worker.on('message', (message: FromCompute) =>
      message.type === 'failed' ? die(failure(message)) : thread.take(message)
    );
    worker.on('error', die);
    worker.on('exit', (code) => die(new Error(`the compute thread ended with code ${code}`)));
    return thread;
  }

  /** Version of the weights after the last message of the thread. */
  get weightVersion(): string {
    return this.version;
  }

  /** Sequences that are waiting or running. */
  get inFlight(): number {
    return this.waiting.size;
  }

  /**
   * Generates sequences; each promise settles on its own.
   *
   * @throws RequestError 400 when an id is in flight already
   */
  generate(
    requests: readonly GenerationRequest[],
    onToken?: (index: number, tokenId: number, logProb: number) => void
  ): Promise<Generated>[] {
    if (requests.length === 0) return [];
    const busy = requests.find(({ id }) => this.waiting.has(id));
    if (busy !== undefined) throw new RequestError(400, `Duplicate request ID detected: ${busy.id}`);
    const promises = requests.map(({ id }, index) => {
      const forItem: OnToken | undefined = onToken && ((tokenId, logProb) => onToken(index, tokenId, logProb));
      return new Promise<Generated>((resolve, reject) => this.waiting.set(id, { resolve, reject, onToken: forItem }));
    });
    this.send({ type: 'generate', requests: [...requests], streamed: onToken !== undefined });
    return promises;
  }

  /** Their results come with finish reason `abort`; ids that are not there are ignored. */
  abort(ids: string[] | 'all'): void {
    const known = ids === 'all' ? ids : ids.filter((id) => this.waiting.has(id));
    if (known.length > 0) this.send({ type: 'abort', ids: known });
  }

  pause(paused: boolean): void {
    this.send({ type: 'pause', paused });
  }

  /** Runs a call between two tokens. @throws RequestError with the failure's type */
  call(name: ComputeCall, args: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const call = this.nextCall;
      this.nextCall += 1;
      this.calls.set(call, { resolve, reject });
      this.send({ type: 'call', call, name, args });
    });
  }

  private send(message: ToCompute): void {
    if (this.gone !== undefined) throw this.gone;
    this.worker.postMessage(message);
    Atomics.add(this.wake, 0, 1);
    Atomics.notify(this.wake, 0);
  }

  private take(message: Exclude<FromCompute, { type: 'failed' }>): void {
    switch (message.type) {
      case 'results':
        this.version = message.weightVersion;
        for (const result of message.results) {
          this.waiting.get(result.id)?.resolve({ result, weightVersion: message.weightVersion });
          this.waiting.delete(result.id);
        }
        return;
      case 'token':
        this.waiting.get(message.id)?.onToken?.(message.tokenId, message.logProb);
        return;
      case 'return':
        this.version = message.weightVersion;
        this.calls.get(message.call)?.resolve(message.value);
        this.calls.delete(message.call);
        return;
      case 'throw':
        this.calls.get(message.call)?.reject(new RequestError(message.status, message.message, message.failureType));
        this.calls.delete(message.call);
        return;
      case 'ready':
        return;
    }
  }

  private fail(error: Error): void {
    this.gone = error;
    for (const waiting of [...this.waiting.values(), ...this.calls.values()]) waiting.reject(error);
    this.waiting.clear();
    this.calls.clear();
  }
}

function firstMessage(worker: Worker): Promise<Extract<FromCompute, { type: 'ready' }>> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: FromCompute) => {
      if (message.type === 'ready') resolve(message);
      else reject(message.type === 'failed' ? failure(message) : new Error(`unexpected message ${message.type}`));
    });
  });
}

function failure({ message, failureType }: Extract<FromCompute, { type: 'failed' }>): Error {
  return isFailureType(failureType) ? new PipelineError(failureType, message) : new Error(message);
}
