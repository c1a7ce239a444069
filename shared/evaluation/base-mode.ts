import { PipelineError } from '../contracts/pipeline-error.js';
import { encodePrompt, encodeText, type Prompt } from '../memory/prompt-ids.js';
import { stripStopTexts } from '../memory/prompts.js';
import type { EvaluationItem } from './dataset.js';
import type { SamplePlace } from './sample-record.js';
import type { EvaluationSettings } from './settings.js';
import { turnGenerator, type InferOutcome } from './turn-generator.js';
import type { ContextCut, EvaluateOptions } from './types.js';

/** What follows the context in the single request of mode `base` (the reference's text). */
function questionPart(question: string): string {
  return `\n\nQuestion: ${question}\nPlease answer the question and put the answer in \\boxed{}.`;
}

interface Fitted {
  prompt: Prompt;
  contextTokens: number;
  tokensRead: number;
}

/**
 * Mode `base`: one request with as much of the context as fits; question and instruction are never cut. The instruction has
 * at most `maxInputTokens` tokens, as in the reference, and with the chat template and the answer it fits the server's context,
 * which the reference leaves to the server.
 */
export async function inferOnce(
  item: EvaluationItem,
  place: SamplePlace,
  options: EvaluateOptions,
  settings: EvaluationSettings,
  signal: AbortSignal
): Promise<InferOutcome> {
  const { prompt, contextTokens, tokensRead } = await fit(item, options, settings, signal);
  const context = { contextTruncated: tokensRead < contextTokens, contextTokens };
  const generate = turnGenerator(options, settings, place, signal);
  const reply = await generate({
    promptIds: prompt.ids,
    messages: prompt.messages,
    maxNewTokens: options.limits.finalTokens,
    turnIndex: 0,
    kind: 'final',
  });
  if (reply.finish === 'abort')
    return { error: new PipelineError('GenerationFailed', 'the server aborted the request'), context };
  const text = reply.text ?? options.tokenizer.decode(reply.outputIds ?? [], { skipSpecialTokens: false });
  return {
    context,
    inferred: {
      ...context,
      response: stripStopTexts(text, settings.flavour),
      numChunks: 1,
      memoryTokenLengths: [],
      memories: [],
      tokensRead,
    },
  };
}

async function fit(
  item: EvaluationItem,
  options: EvaluateOptions,
  settings: EvaluationSettings,
  signal: AbortSignal
): Promise<Fitted> {
  const { tokenizer, limits, enableThinking } = options;
  const part = questionPart(item.question);
  const room = settings.contextLength - limits.finalTokens;
  const budget = settings.maxInputTokens - tokenizer.encode(part).length;
  if (budget <= 0)
    throw new PipelineError(
      'DataInvalid',
      `question and instruction alone have more than ${settings.maxInputTokens} tokens: no context fits`
    );
  const ids = await encodeText(tokenizer, item.context, signal);
  let kept = Math.min(budget, ids.length);
  for (;;) {
    const instruction = tokenizer.decode(keptIds(ids, kept, settings.contextCut)) + part;
    const prompt = await encodePrompt(tokenizer, instruction, enableThinking, signal);
    const { length } = await encodeText(tokenizer, instruction, signal);
    // Putting texts together can move a token border: the lengths are those of what is really sent.
    const over = Math.max(length - settings.maxInputTokens, prompt.ids.length - room);
    if (over <= 0 || kept === 0) return { prompt, contextTokens: ids.length, tokensRead: kept };
    kept = Math.max(0, kept - over);
  }
}

/** Ids of a context that is cut to `count` tokens. With an odd count, `middle` keeps one more of the beginning. */
function keptIds(ids: readonly number[], count: number, cut: ContextCut | undefined): readonly number[] {
  if (count >= ids.length) return ids;
  if (cut !== 'middle') return ids.slice(0, count);
  const tail = Math.floor(count / 2);
  return [...ids.slice(0, count - tail), ...ids.slice(ids.length - tail)];
}
