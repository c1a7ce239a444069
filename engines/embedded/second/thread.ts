import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { entryPath } from '../../../shared/runtime/entry.js';
import type { KernelKind } from '../kernels/kernels.js';
import type { Model, ModelLimits } from '../model/model.js';
import type { Qwen3Config } from '../policy-api.js';
import type { Generated, GivenJob, JobEnd, ScoreJob, SecondJob } from './jobs.js';

/** The gradient lane whose packs the second thread takes: see GRADIENT_LANES. */
export const SECOND_LANE = 1;
/** Words of the shared signal: number of jobs given, number of jobs done. */
export const GIVEN = 0;
export const DONE = 1;
/** No job takes so long; a thread that died would be waited for otherwise. Unit: milliseconds. */
const LONGEST_JOB_MS = 600_000;
/** Unit: milliseconds. */
const LATE_ANSWER_MS = 5_000;

/** What the second thread starts with. Floats of parameters and gradients lie as in a model's parameter block. */
export interface SecondThreadData {
  config: Qwen3Config;
  limits: ModelLimits;
  kernels: KernelKind;
  signal: Int32Array;
  parameters: Float32Array;
  gradient: Float32Array;
  port: MessagePort;
}

/**
 * A thread with a model of its own: it computes every second pack of rows, and generates for a part of the requests. It gets
 * weights and hands back one gradient lane through shared memory, so the sums are those that one thread would make, in the
 * same order. One job at a time: `begin`, then `finish`.
 */
export class SecondThread {
  private jobs = 0;
  private weightsAreNew = true;

  private constructor(
    private readonly model: Model,
    private readonly worker: Worker,
    private readonly data: SecondThreadData,
    private readonly port: MessagePort
  ) {}

  /** @param limits of its generator */
  static async start(model: Model, limits: ModelLimits): Promise<SecondThread> {
    const floats = (count: number): Float32Array => new Float32Array(new SharedArrayBuffer(4 * count));
    const { port1, port2 } = new MessageChannel();
    const data: SecondThreadData = {
      config: model.config,
      limits,
      kernels: model.kernels.kind,
      signal: new Int32Array(new SharedArrayBuffer(8)),
      parameters: floats(model.parameters.length),
      gradient: floats(model.parameters.length),
      port: port2,
    };
    const worker = new Worker(entryPath('engines/embedded/second/worker.js'), {
      workerData: data,
      transferList: [port2],
    });
    await new Promise<void>((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', () => resolve());
    });
    worker.unref();
    return new SecondThread(model, worker, data, port1);
  }

  /** The next job needs the weights again. */
  weightsChanged(): void {
    this.weightsAreNew = true;
  }

  /** Starts a job; the caller does its own part meanwhile. */
  begin(job: SecondJob): void {
    const { kernels, parameters } = this.model;
    if (this.weightsAreNew)
      this.data.parameters.set(kernels.heap.subarray(parameters.start, parameters.start + parameters.length));
    this.port.postMessage({ job, newWeights: this.weightsAreNew } satisfies GivenJob);
    this.weightsAreNew = false;
    this.jobs += 1;
    Atomics.store(this.data.signal, GIVEN, this.jobs);
    Atomics.notify(this.data.signal, GIVEN);
  }

  /** Waits for a step of the generator. @throws Error that the job ended with */
  finishGenerate(): Generated {
    return this.finish() ?? { results: [], tokens: [] };
  }

  /** Waits for packs of rows and takes over their gradient lane, if there is one. @throws Error that the job ended with */
  finishScore({ gradients }: Pick<ScoreJob, 'gradients'>): void {
    this.finish();
    if (gradients) this.model.kernels.heap.set(this.data.gradient, this.model.gradients[SECOND_LANE]!);
  }

  private finish(): Generated | null {
    if (Atomics.wait(this.data.signal, DONE, this.jobs - 1, LONGEST_JOB_MS) === 'timed-out')
      throw new Error('the second thread of the policy does not answer');
    const end = this.answer();
    if (end === undefined) throw new Error('the second thread of the policy gave no answer');
    if ('failure' in end) throw new Error(`the second thread of the policy failed: ${end.failure}`);
    return end.value;
  }

  /** Sent before the signal is set; Node does not promise that it can be received as soon as the signal is seen. */
  private answer(): JobEnd | undefined {
    const until = performance.now() + LATE_ANSWER_MS;
    for (;;) {
      const received = receiveMessageOnPort(this.port);
      if (received !== undefined) return received.message as JobEnd;
      if (performance.now() > until) return undefined;
    }
  }

  async end(): Promise<void> {
    this.port.close();
    await this.worker.terminate();
  }
}
