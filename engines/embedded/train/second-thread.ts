import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { entryPath } from '../../../shared/runtime/entry.js';
import type { KernelKind } from '../kernels/kernels.js';
import type { Model } from '../model/model.js';
import type { Qwen3Config } from '../policy-api.js';
import type { ScoredRow, Scores } from './scoring.js';

/** The gradient lane whose packs the second thread takes: see GRADIENT_LANES. */
export const SECOND_LANE = 1;
/** Words of the shared signal: number of jobs given, number of jobs done. */
export const GIVEN = 0;
export const DONE = 1;
/** No job takes so long; a thread that died would be waited for otherwise. Unit: milliseconds. */
const LONGEST_JOB_MS = 600_000;

/** What the second thread starts with. Floats of parameters and gradients lie as in a model's parameter block. */
export interface SecondThreadData {
  config: Qwen3Config;
  maxSequence: number;
  kernels: KernelKind;
  signal: Int32Array;
  parameters: Float32Array;
  gradient: Float32Array;
  port: MessagePort;
}

/** Packs of rows to compute. */
export interface SecondThreadJob {
  packs: { rows: ScoredRow[]; token: number }[];
  temperature: number;
  gradients: boolean;
  /** The parameters were written anew since the last job. */
  newWeights: boolean;
  /** In shared memory: the second thread fills in the tokens of its packs. */
  scores: Scores;
}

/**
 * A thread with a model of its own that computes every second pack. It gets weights and hands back one gradient lane through
 * shared memory, so the sums are those that one thread would make, in the same order.
 */
export class SecondThread {
  private jobs = 0;
  private weightsAreNew = true;

  private constructor(
    private readonly worker: Worker,
    private readonly data: SecondThreadData,
    private readonly port: MessagePort
  ) {}

  static async start(model: Model, maxSequence: number): Promise<SecondThread> {
    const floats = (count: number): Float32Array => new Float32Array(new SharedArrayBuffer(4 * count));
    const { port1, port2 } = new MessageChannel();
    const data: SecondThreadData = {
      config: model.config,
      maxSequence,
      kernels: model.kernels.kind,
      signal: new Int32Array(new SharedArrayBuffer(8)),
      parameters: floats(model.parameters.length),
      gradient: floats(model.parameters.length),
      port: port2,
    };
    const worker = new Worker(entryPath('engines/embedded/train/second-worker.js'), {
      workerData: data,
      transferList: [port2],
    });
    await new Promise<void>((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', () => resolve());
    });
    worker.unref();
    return new SecondThread(worker, data, port1);
  }

  /** The next job needs the weights again. */
  weightsChanged(): void {
    this.weightsAreNew = true;
  }

  /** Starts a job; the caller computes its own packs meanwhile. */
  begin(model: Model, job: Omit<SecondThreadJob, 'newWeights'>): void {
    const { kernels, parameters } = model;
    if (this.weightsAreNew)
      this.data.parameters.set(kernels.heap.subarray(parameters.start, parameters.start + parameters.length));
    this.port.postMessage({ ...job, newWeights: this.weightsAreNew } satisfies SecondThreadJob);
    this.weightsAreNew = false;
    this.jobs += 1;
    Atomics.store(this.data.signal, GIVEN, this.jobs);
    Atomics.notify(this.data.signal, GIVEN);
  }

  /** Waits for the job; takes over its gradient lane if there is one. @throws Error that the job ended with */
  finish(model: Model, gradients: boolean): void {
    const { signal, gradient } = this.data;
    if (Atomics.wait(signal, DONE, this.jobs - 1, LONGEST_JOB_MS) === 'timed-out')
      throw new Error('the second thread of the policy does not answer');
    const failure = receiveMessageOnPort(this.port)?.message as string | undefined;
    if (failure !== undefined) throw new Error(`the second thread of the policy failed: ${failure}`);
    if (gradients) model.kernels.heap.set(gradient, model.gradients[SECOND_LANE]!);
  }

  async end(): Promise<void> {
    this.port.close();
    await this.worker.terminate();
  }
}
