import { PipelineError } from '../contracts/pipeline-error.js';
import type { Turn, TurnKind } from '../contracts/trajectory.js';
import { pyStrip } from '../data/python/value.js';
import { LARGE_TEXT, poolFor } from '../tokenizer/pool.js';
import { prepareContext } from './chunking.js';
import { checkLimits } from './limits.js';
import { encodePrompt, encodeText } from './prompt-ids.js';
import { finalInstruction, memoryInstruction, NO_MEMORY, stripStopTexts } from './prompts.js';
import { truncateToTokens, type BoundedText } from './truncate.js';
import { turnRecord } from './turn-record.js';
import type {
  PreparedContext,
  RecurrentResult,
  TrajectoryDeps,
  TrajectoryInput,
  TurnRequest,
  TurnResponse,
} from './types.js';

/**
 * Reads a context chunk by chunk, keeps only a memory text between the requests, and answers from the memory.
 *
 * Where the references differ: relax trims the question, aborts the trajectory at the first bad or aborted turn, replaces
 * the memory by every reply (also an empty one) and cuts it to its cap. vime keeps the old memory when a reply is empty,
 * cuts nothing, takes an aborted turn as a stopped one, and calls a trajectory whose request failed `failed`.
 *
 * A trajectory that does not end is never partly returned: its `turns` are empty and `error` says why.
 *
 * @returns never rejects for what a model, a server or the signal does
 * @throws PipelineError RecipeInvalid when a limit is not a positive whole number
 */
export async function runTrajectory(input: TrajectoryInput, deps: TrajectoryDeps): Promise<RecurrentResult> {
  checkLimits(input.limits);
  const pass = new Pass(input, deps);
  try {
    return await pass.run();
  } catch (error) {
    return pass.unfinished(error);
  }
}

class Pass {
  readonly #turns: Turn[] = [];
  readonly #memories: string[] = [];
  readonly #memoryTokens: number[] = [];
  readonly #question: string;
  #memory = NO_MEMORY;
  #context: PreparedContext | undefined;
  #anyTurnTruncated = false;

  constructor(
    private readonly input: TrajectoryInput,
    private readonly deps: TrajectoryDeps
  ) {
    const question = input.question.toWellFormed();
    this.#question = input.flavour === 'relax' ? pyStrip(question) : question;
  }

  async run(): Promise<RecurrentResult> {
    const { input, deps } = this;
    const context =
      typeof input.context === 'string'
        ? await prepareContext(deps.tokenizer, input.context, input.limits, deps.signal)
        : input.context;
    this.#context = context;
    const missing = this.#missingInput(context);
    if (missing !== undefined) return this.#end('aborted', { error: new PipelineError('DataInvalid', missing) });
    for (const chunk of context.chunks) await this.#memoryTurn(chunk);
    return await this.#finalTurn();
  }

  #missingInput(context: PreparedContext): string | undefined {
    const { flavour } = this.input;
    if (flavour === 'relax' && this.#question === '') return 'the question is empty: nothing can be asked';
    const isEmpty = flavour === 'relax' ? context.numChunks === 0 : context.totalTokens === 0;
    return isEmpty ? 'the context is empty: there is nothing to read' : undefined;
  }

  async #memoryTurn(chunk: string): Promise<void> {
    const { input } = this;
    const { evaluation, limits } = input;
    if (input.emptyMemory === true) this.#memory = NO_MEMORY;
    const instruction = memoryInstruction({ question: this.#question, memory: this.#memory, evaluation, chunk });
    const { text } = await this.#turn('memory', instruction, limits.memoryTokens);
    const reply = stripStopTexts(text, input.flavour);
    if (input.flavour === 'relax') {
      const bounded = await this.#bound(reply);
      this.#remember(bounded.text, bounded.length);
    } else {
      const memory = reply === '' ? this.#memory : reply;
      this.#remember(memory, (await this.#encode(memory)).length);
    }
  }

  #remember(memory: string, tokens: number): void {
    this.#memory = memory;
    this.#memories.push(memory);
    this.#memoryTokens.push(tokens);
  }

  async #finalTurn(): Promise<RecurrentResult> {
    const { evaluation, limits, flavour } = this.input;
    const instruction = finalInstruction({ question: this.#question, memory: this.#memory, evaluation });
    const { text, finish } = await this.#turn('final', instruction, limits.finalTokens);
    return this.#end(finish === 'length' ? 'truncated' : 'completed', {
      turns: this.#turns,
      finalResponse: text,
      finalOutput: stripStopTexts(text, flavour),
    });
  }

  async #turn(kind: TurnKind, instruction: string, maxNewTokens: number): Promise<{ text: string; finish: string }> {
    const { input, deps } = this;
    const { signal, tokenizer } = deps;
    signal?.throwIfAborted();
    const prompt = await encodePrompt(tokenizer, instruction, input.enableThinking ?? null, signal);
    const turnIndex = this.#memories.length;
    const request: TurnRequest = {
      promptIds: prompt.ids,
      messages: prompt.messages,
      maxNewTokens,
      turnIndex,
      kind,
    };
    const response = await untilAborted(deps.generate(request), signal);
    if (response.finish === 'abort' && input.flavour === 'relax')
      throw new PipelineError('GenerationFailed', `turn ${turnIndex} (${kind}): the server aborted the request`);
    this.#record(request, response);
    if (response.finish === 'length') this.#anyTurnTruncated = true;
    return { text: this.#textOf(response), finish: response.finish };
  }

  #record(request: TurnRequest, response: TurnResponse): void {
    const { flavour, evaluation, keepTurns = true } = this.input;
    const { outputIds } = response;
    if (outputIds !== null) {
      const turn = turnRecord(request, { ...response, outputIds }, { flavour, evaluation });
      if (keepTurns) this.#turns.push(turn);
      return;
    }
    if (evaluation && response.text !== undefined) return;
    const place = `turn ${request.turnIndex} (${request.kind})`;
    throw new PipelineError('GenerationFailed', `${place}: the reply has no token ids: it cannot be used for training`);
  }

  /** relax's server leaves special tokens in the text, vime's client does not. */
  #textOf({ text, outputIds }: TurnResponse): string {
    if (text !== undefined) return text.toWellFormed();
    return this.deps.tokenizer.decode(outputIds ?? [], { skipSpecialTokens: this.input.flavour === 'vime' });
  }

  async #bound(text: string): Promise<BoundedText> {
    const { tokenizer, signal } = this.deps;
    const { memoryTokens } = this.input.limits;
    if (text.length <= LARGE_TEXT) return truncateToTokens(tokenizer, text, memoryTokens);
    return await poolFor(tokenizer).run({ kind: 'truncate', text, maxTokens: memoryTokens }, signal);
  }

  async #encode(text: string): Promise<readonly number[]> {
    const { tokenizer, signal } = this.deps;
    return await encodeText(tokenizer, text, signal);
  }

  /** What is returned when anything was thrown on the way. */
  unfinished(thrown: unknown): RecurrentResult {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const isAborted = this.input.flavour === 'relax' || this.deps.signal?.aborted === true;
    return this.#end(isAborted ? 'aborted' : 'failed', { error });
  }

  #end(
    status: RecurrentResult['status'],
    rest: Partial<Pick<RecurrentResult, 'turns' | 'finalOutput' | 'finalResponse' | 'error'>>
  ): RecurrentResult {
    return {
      status,
      turns: [],
      finalOutput: '',
      finalResponse: '',
      numChunks: this.#context?.numChunks ?? 0,
      contextTruncated: this.#context?.truncated ?? false,
      anyTurnTruncated: this.#anyTurnTruncated,
      memoryTokenLengths: this.#memoryTokens,
      finalMemoryTokens: this.#memoryTokens.at(-1) ?? 0,
      memories: this.#memories,
      ...rest,
    };
  }
}

/** The promise's result, or the signal's reason as soon as it is given: a server that hangs must not hold a trajectory. */
async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return await promise;
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
