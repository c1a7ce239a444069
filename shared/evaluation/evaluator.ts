import { setMaxListeners } from 'node:events';
import { PipelineError } from '../contracts/pipeline-error.js';
import { onAbort } from '../inference/on-abort.js';
import { openEvaluationData, removeScratch, type EvaluationData } from './dataset.js';
import { conditionsOf } from './conditions.js';
import { inferenceFor, type Infer } from './infer.js';
import { refuseOtherResults } from './other-results.js';
import { completeResults, writeResults } from './result-files.js';
import { answeredSample, failedSample, type SamplePlace } from './sample-record.js';
import { checkServer } from './server-check.js';
import { evaluationSettings, type EvaluationSettings } from './settings.js';
import type { EvaluateOptions, EvaluationOutcome, StoredSample } from './types.js';
import { WorkingFile } from './working-file.js';

export type { EvaluateOptions, EvaluationOutcome, EvaluationProgress, StoredSample, StoredSummary } from './types.js';

const DEFAULT_CONCURRENCY = 16;
const DEFAULT_ATTEMPTS = 2;

/**
 * Evaluates a model behind an inference server on a data set: the recurrent loop over every context (or one request with the
 * context cut to fit, mode `base`), scored sample by sample.
 *
 * Finished samples are on disk at once; a call after an interruption asks only for the others and for those that failed. The
 * files are the same, byte for byte, whatever the order and number of calls (as far as the server takes a seed).
 *
 * @throws PipelineError DataInvalid; PinMismatch before the first request when the server is not the expected one;
 *   EngineUnavailable when the server answers no sample any more; StorageFailed; UserError for results of other settings in
 *   the files (`keepOtherResults`). The signal's reason when it is aborted.
 *   Samples with request errors do not throw: see `summary.errors`.
 */
export async function evaluateDataset(options: EvaluateOptions): Promise<EvaluationOutcome> {
  const startedAt = performance.now();
  const scratchPath = `${options.samplesPath}.data`;
  const { signal } = options;
  signal?.throwIfAborted();
  // The hash is taken before the first request: what is changed later was not evaluated.
  const data = await openEvaluationData(options.dataPath, scratchPath, options.items, signal);
  try {
    const server = await options.client.facts(signal === undefined ? {} : { signal });
    checkServer(server, {
      modelPath: options.expectedModelPath,
      contextLength: options.serverContext,
      weightsVersion: options.expectedWeightsVersion,
    });
    const settings = evaluationSettings(options, data, server);
    const paths = { samplesPath: options.samplesPath, summaryPath: options.summaryPath };
    const workingPath = `${options.samplesPath}.working`;
    const conditions = conditionsOf(options, settings, data);
    if (options.keepOtherResults === true) await refuseOtherResults({ ...paths, workingPath }, settings, conditions);
    const finish = (): number => (performance.now() - startedAt) / 1000;
    const complete = await completeResults(options, settings);
    if (complete) return { ...paths, summary: complete, server, reused: true, resumed: 0, seconds: finish() };
    const working = await WorkingFile.open(workingPath, settings.sha256, conditions);
    const run = new EvaluationRun(options, settings, data, working);
    try {
      await run.all();
      // Were the last failures the samples' own, or is the server gone? Then they are worth another call, not a result.
      if (run.endedUnavailable) await options.client.facts(signal === undefined ? {} : { signal });
      const summary = await writeResults(options, settings, data, working);
      if (summary.errors === 0) await working.remove();
      return { ...paths, summary, server, reused: false, resumed: run.resumed, seconds: finish() };
    } finally {
      await working.close();
    }
  } finally {
    await removeScratch(scratchPath);
  }
}

/** One call's work: a fixed number of runners take the samples that are not done, in order. */
class EvaluationRun {
  readonly resumed: number;
  private readonly total: number;
  private readonly pending: number[] = [];
  private readonly startedAt = performance.now();
  private readonly stop = new AbortController();
  private readonly infer: Infer;
  private readonly concurrency: number;
  private next = 0;
  private finished = 0;
  private subEmSum = 0;
  private boxedEmSum = 0;
  private lastError: string | undefined;
  private errors = 0;
  /** Samples in a row that failed because the server was not there. */
  private unavailable = 0;

  constructor(
    private readonly options: EvaluateOptions,
    private readonly settings: EvaluationSettings,
    private readonly data: EvaluationData,
    private readonly working: WorkingFile
  ) {
    this.total = data.items * settings.samplesPerItem;
    this.concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
    for (let index = 0; index < this.total; index += 1) {
      const done = working.done.get(index);
      if (done === undefined || done.error !== undefined) this.pending.push(index);
      else {
        this.subEmSum += done.judge_sub_em;
        this.boxedEmSum += done.judge_boxed_em;
      }
    }
    this.resumed = this.total - this.pending.length;
    // Every running trajectory listens to it.
    setMaxListeners(0, this.stop.signal);
    this.infer = inferenceFor(options, settings, this.stop.signal);
  }

  /** Nothing was answered after the last sample that found no server. */
  get endedUnavailable(): boolean {
    return this.unavailable > 0;
  }

  async all(): Promise<void> {
    const forget = onAbort(this.options.signal, () => this.stop.abort(this.options.signal?.reason));
    const runners = Math.min(this.concurrency, this.pending.length);
    const outcomes = await Promise.allSettled(Array.from({ length: runners }, () => this.runner()));
    forget();
    this.stop.signal.throwIfAborted();
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  private async runner(): Promise<void> {
    try {
      for (;;) {
        this.stop.signal.throwIfAborted();
        const index = this.pending[this.next];
        if (index === undefined) return;
        this.next += 1;
        const sample = await this.evaluate(this.place(index));
        await this.working.append(sample);
        this.count(sample);
      }
    } catch (error) {
      // A full disk or a broken data file ends the others too.
      this.stop.abort(error);
      throw error;
    }
  }

  private place(index: number): SamplePlace {
    const { samplesPerItem } = this.settings;
    return { index, item: Math.floor(index / samplesPerItem), sample: index % samplesPerItem, samplesPerItem };
  }

  private async evaluate(place: SamplePlace): Promise<StoredSample> {
    const item = await this.data.read(place.item);
    const attempts = this.options.attemptsPerSample ?? DEFAULT_ATTEMPTS;
    for (let attempt = 1; ; attempt += 1) {
      const { inferred, error, context } = await this.infer(item, place);
      // An aborted request is nobody's error.
      this.stop.signal.throwIfAborted();
      if (inferred) {
        this.unavailable = 0;
        return answeredSample(place, item, inferred);
      }
      if (attempt < attempts && !isUnavailable(error)) continue;
      this.noteUnavailable(error);
      return failedSample(place, item, error, context);
    }
  }

  /** A dead server would cost every remaining sample its full patience: a round of failures without one answer ends the call. */
  private noteUnavailable(error: unknown): void {
    if (!isUnavailable(error)) return;
    this.unavailable += 1;
    if (this.unavailable > this.concurrency) this.stop.abort(error);
  }

  private count(sample: StoredSample): void {
    this.finished += 1;
    this.subEmSum += sample.judge_sub_em;
    this.boxedEmSum += sample.judge_boxed_em;
    if (sample.error !== undefined) {
      this.errors += 1;
      this.lastError = sample.error;
    }
    const done = this.resumed + this.finished;
    this.options.onProgress?.({
      done,
      total: this.total,
      errors: this.errors,
      samplesPerSecond: this.finished / ((performance.now() - this.startedAt) / 1000),
      subEmPct: (this.subEmSum / done) * 100,
      boxedEmPct: (this.boxedEmSum / done) * 100,
      ...(this.lastError === undefined ? {} : { lastError: this.lastError }),
    });
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof PipelineError && error.type === 'EngineUnavailable';
}
