import { PipelineError } from '../contracts/pipeline-error.js';
import type { GenerateTurn } from '../memory/types.js';
import type { Inferred, SamplePlace } from './sample-record.js';
import type { EvaluationSettings } from './settings.js';
import { Turnstile } from './turnstile.js';
import type { EvaluateOptions } from './types.js';

/** A sample's result, or why there is none. */
export interface InferOutcome {
  inferred?: Inferred;
  error?: unknown;
  context: Pick<Inferred, 'contextTruncated' | 'contextTokens'>;
}

/** Of all evaluations of this thread. */
const turns = new Turnstile();

/** The sampling key's place for a turn makes equal draws for equal samples, whatever runs beside them. */
export function turnGenerator(
  options: EvaluateOptions,
  settings: EvaluationSettings,
  place: SamplePlace,
  signal: AbortSignal
): GenerateTurn {
  return async (turn) => {
    const reply = await options.client.generate(
      {
        promptIds: turn.promptIds,
        messages: turn.messages,
        maxNewTokens: turn.maxNewTokens,
        temperature: options.temperature,
        topP: options.topP,
        stopTokenIds: options.tokenizer.eosTokenIds,
        wantLogProbs: false,
        ...(settings.seed === null
          ? {}
          : { samplingKey: [settings.seed, settings.datasetNumber, place.item, place.sample, turn.turnIndex] }),
        ...(options.enableThinking === null ? {} : { enableThinking: options.enableThinking }),
      },
      { signal }
    );
    await turns.pass();
    const text = reply.outputIds === null ? (reply.text ?? '') : paddedText(reply.outputIds, options, settings);
    return {
      outputIds: reply.outputIds,
      logProbs: reply.logProbs,
      finish: reply.finish,
      ...(text === undefined ? {} : { text }),
    };
  };
}

/**
 * Text of ids some of which only the model has: rows that pad its vocabulary. Like any reply's it is decoded here, with the
 * tokenizer the evaluation names, and what has no text is passed over, as the servers' detokenizers and the references do.
 *
 * @returns undefined when all ids are the tokenizer's
 * @throws PipelineError GenerationFailed for an id that is not the model's either
 */
function paddedText(
  ids: readonly number[],
  { tokenizer }: EvaluateOptions,
  { flavour, modelVocabSize }: EvaluationSettings
): string | undefined {
  const highest = ids.reduce((most, id) => Math.max(most, id), 0);
  if (highest < tokenizer.vocabSize) return undefined;
  if (highest < modelVocabSize)
    return tokenizer.decode(ids, { skipSpecialTokens: flavour === 'vime', skipPadding: true });
  throw new PipelineError(
    'GenerationFailed',
    `token id ${highest} is outside the model’s vocabulary (ids 0 to ${modelVocabSize - 1})`,
    { cure: 'Name the tokenizer of the model that is served; the vocabulary is in its config.json.' }
  );
}
