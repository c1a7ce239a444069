import type { GenerationRequest, GenerationResult, Generator, OnToken } from '../policy-api.js';
import type { BatchGenerator } from '../sample/generator.js';
import { sequenceResult, startSequence } from '../sample/request.js';
import { advanceBy } from './advance-by.js';
import type { GenerateJob } from './jobs.js';
import type { SecondThread } from './thread.js';

/**
 * Tokens made before the threads meet again while no request waits for a place: meeting costs a good part of a token's time.
 * Whoever comes meanwhile waits a few milliseconds.
 */
const STEPS = 8;

interface Placed {
  request: GenerationRequest;
  /** On the second thread. */
  isFar: boolean;
  isAborted: boolean;
}

/**
 * A generator on two threads: each makes the next tokens of its half of the sequences, several at an `advance`. A sequence's bits
 * do not depend on what runs beside it, so they do not depend on where it runs either.
 */
export class PairGenerator implements Generator {
  private queue: GenerationRequest[] = [];
  private ended: GenerationResult[] = [];
  /** Requests that were handed out and whose results have not come. */
  private readonly placed = new Map<string, Placed>();
  private submitted: GenerationRequest[] = [];
  private aborted: string[] = [];
  private mustFlush = false;
  private thread: SecondThread | null;

  /**
   * @param near generator of this thread
   * @param perThread most sequences that run on one of them; its own limit is this one
   */
  constructor(
    private readonly near: BatchGenerator,
    thread: SecondThread,
    private readonly perThread: number
  ) {
    this.thread = thread;
  }

  get running(): number {
    return [...this.placed.values()].filter(({ isAborted }) => !isAborted).length;
  }

  get waiting(): number {
    return this.queue.length;
  }

  hasWork(): boolean {
    return this.queue.length + this.placed.size + this.ended.length > 0;
  }

  submit(request: GenerationRequest): void {
    this.queue.push(request);
  }

  abort(id: string): boolean {
    const at = this.queue.findIndex((request) => request.id === id);
    if (at >= 0) {
      const [request] = this.queue.splice(at, 1);
      this.ended.push(sequenceResult(startSequence(request!)));
      return true;
    }
    const place = this.placed.get(id);
    if (place === undefined || place.isAborted) return false;
    place.isAborted = true;
    if (place.isFar) this.aborted.push(id);
    else this.near.abort(id);
    return true;
  }

  advance(onToken?: OnToken): GenerationResult[] {
    this.handOut();
    const steps = this.queue.length > 0 ? 1 : STEPS;
    const job = this.farJob(steps, onToken !== undefined);
    if (job !== undefined) this.thread?.begin(job);
    let results: GenerationResult[];
    try {
      results = [...this.ended.splice(0), ...advanceBy(this.near, steps, onToken)];
    } finally {
      // Whatever happened here, its answer must not be taken for that of the next job.
      if (job !== undefined) this.takeFar(onToken);
    }
    results.push(...this.ended.splice(0));
    for (const { id } of results) this.placed.delete(id);
    return results;
  }

  /** Keys and values of earlier weights must not be lent to new prompts. */
  flush(): void {
    this.near.flush();
    this.mustFlush = true;
  }

  /** Goes on with one thread; what the other one had begun is begun again. */
  single(): void {
    this.thread = null;
    const far = this.far();
    for (const { request } of far) this.placed.delete(request.id);
    this.queue.unshift(...far.filter(({ isAborted }) => !isAborted).map(({ request }) => request));
    this.ended.push(
      ...far.filter(({ isAborted }) => isAborted).map(({ request }) => sequenceResult(startSequence(request)))
    );
    [this.submitted, this.aborted, this.mustFlush] = [[], [], false];
  }

  /** What the second thread has. */
  private far(): Placed[] {
    return [...this.placed.values()].filter(({ isFar }) => isFar);
  }

  /** Gives waiting requests to the threads so that both have equally many; neighbours stay together, they often share a prompt. */
  private handOut(): void {
    const far = this.far().length;
    const near = this.placed.size - far;
    const room = this.thread === null ? this.perThread - near : 2 * this.perThread - this.placed.size;
    const taken = this.queue.splice(0, Math.max(0, room));
    const half = Math.ceil((this.placed.size + taken.length) / 2);
    const here = this.thread === null ? taken.length : Math.min(taken.length, Math.max(0, half - near));
    taken.forEach((request, index) => this.place(request, index >= here));
  }

  private place(request: GenerationRequest, isFar: boolean): void {
    this.placed.set(request.id, { request, isFar, isAborted: false });
    if (isFar) this.submitted.push(request);
    else this.near.submit(request);
  }

  /** Undefined when the second thread has nothing to do. */
  private farJob(steps: number, streams: boolean): GenerateJob | undefined {
    if (this.thread === null || this.far().length === 0) return undefined;
    const { submitted, aborted, mustFlush: flush } = this;
    [this.submitted, this.aborted, this.mustFlush] = [[], [], false];
    return { kind: 'generate', submitted, aborted, flush, steps, streams };
  }

  private takeFar(onToken?: OnToken): void {
    const { results, tokens } = this.thread!.finishGenerate();
    for (const token of tokens) onToken?.(...token);
    this.ended.push(...results);
  }
}
