import type { GenerateTurn } from '../memory/types.js';
import type { Inferred, SamplePlace } from './sample-record.js';
import type { EvaluationSettings } from './settings.js';
import type { EvaluateOptions } from './types.js';

/** A sample's result, or why there is none. */
export interface InferOutcome {
  inferred?: Inferred;
  error?: unknown;
  context: Pick<Inferred, 'contextTruncated' | 'contextTokens'>;
}

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
        samplingKey: [settings.seed, settings.datasetNumber, place.item, place.sample, turn.turnIndex],
        ...(options.enableThinking === null ? {} : { enableThinking: options.enableThinking }),
      },
      { signal }
    );
    return {
      outputIds: reply.outputIds,
      logProbs: reply.logProbs,
      finish: reply.finish,
      // Token protocols are decoded here, with the tokenizer the evaluation names.
      ...(reply.outputIds === null ? { text: reply.text ?? '' } : {}),
    };
  };
}
