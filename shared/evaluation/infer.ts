import { pyStrip } from '../data/python/value.js';
import { prepareContext } from '../memory/chunking.js';
import { runTrajectory } from '../memory/recurrent-loop.js';
import type { PreparedContext } from '../memory/types.js';
import { inferOnce } from './base-mode.js';
import type { EvaluationItem } from './dataset.js';
import type { Inferred, SamplePlace } from './sample-record.js';
import type { EvaluationSettings } from './settings.js';
import { turnGenerator, type InferOutcome } from './turn-generator.js';
import type { EvaluateOptions } from './types.js';

/** Asks the model about one sample. Never rejects. */
export type Infer = (item: EvaluationItem, place: SamplePlace) => Promise<InferOutcome>;

export function inferenceFor(options: EvaluateOptions, settings: EvaluationSettings, signal: AbortSignal): Infer {
  const infer = settings.mode === 'base' ? inferOnce : new Recurrent(options, settings, signal).infer;
  return async (item, place) => {
    try {
      return await infer(item, place, options, settings, signal);
    } catch (error) {
      return { error, context: { contextTruncated: false, contextTokens: 0 } };
    }
  };
}

/** The recurrent loop of training, with the evaluation's prompt variant. */
class Recurrent {
  /** Contexts of the latest items, shared by the samples of an item. */
  private readonly contexts = new Map<number, Promise<PreparedContext>>();

  constructor(
    private readonly options: EvaluateOptions,
    private readonly settings: EvaluationSettings,
    private readonly signal: AbortSignal
  ) {}

  readonly infer = async (item: EvaluationItem, place: SamplePlace): Promise<InferOutcome> => {
    const { options, settings, signal } = this;
    const context = await this.context(item, place);
    const result = await runTrajectory(
      {
        question: item.question,
        context,
        limits: options.limits,
        flavour: settings.flavour,
        evaluation: true,
        enableThinking: options.enableThinking,
        emptyMemory: options.emptyMemory ?? false,
        keepTurns: false,
      },
      { tokenizer: options.tokenizer, signal, generate: turnGenerator(options, settings, place, signal) }
    );
    const facts = { contextTruncated: context.truncated, contextTokens: context.totalTokens };
    if (result.status === 'aborted' || result.status === 'failed')
      return { error: result.error ?? new Error(`the trajectory ended as ${result.status}`), context: facts };
    const inferred: Inferred = {
      ...facts,
      response: result.finalOutput,
      numChunks: result.numChunks,
      memoryTokenLengths: result.memoryTokenLengths,
      memories: result.memories,
      tokensRead: context.tokensRead,
    };
    return { inferred, context: facts };
  };

  private context(item: EvaluationItem, { item: number, samplesPerItem }: SamplePlace): Promise<PreparedContext> {
    const prepare = (): Promise<PreparedContext> =>
      prepareContext(this.options.tokenizer, pyStrip(item.context), this.options.limits, this.signal);
    if (samplesPerItem === 1) return prepare();
    const known = this.contexts.get(number);
    if (known) return known;
    const prepared = prepare();
    this.contexts.set(number, prepared);
    // A failed preparation is tried again by the next sample, not remembered.
    prepared.catch(() => this.contexts.delete(number));
    const [oldest] = this.contexts.keys();
    if (this.contexts.size > (this.options.concurrency ?? 16) && oldest !== undefined) this.contexts.delete(oldest);
    return prepared;
  }
}
