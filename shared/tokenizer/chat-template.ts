import { Template } from '@huggingface/jinja';
import { PipelineError } from '../contracts/pipeline-error.js';
import { passesContentThrough } from './content-passthrough.js';
import type { TokenizerConfig } from './tokenizer-files.js';
import type { ChatMessage, RenderOptions } from './types.js';

/** Stands for a message's content while the text around it is found out. */
const PLACEHOLDER = '\u{f0000}content\u{f0001}';

/** Renders conversations with a model's own Jinja template, with the variables that transformers gives it. */
export class ChatTemplate {
  readonly #template: Template;
  readonly #specialTokens: Record<string, string>;
  readonly #passesThrough: boolean;
  /** Text before and after the content of a single message, by role and options; null = it has to be rendered. */
  readonly #frames = new Map<string, readonly [head: string, tail: string] | null>();

  /**
   * @param directory for messages only
   * @throws PipelineError DataInvalid when the template has a syntax error
   */
  constructor(
    source: string,
    config: TokenizerConfig,
    private readonly directory: string
  ) {
    try {
      this.#template = new Template(source);
    } catch (error) {
      throw this.#failure('has a syntax error', error);
    }
    this.#passesThrough = passesContentThrough(this.#template.parsed);
    // A token that the tokenizer does not have stays undefined in the template, as in the reference.
    const { bos_token, eos_token, pad_token, unk_token } = config;
    const entries = Object.entries({ bos_token, eos_token, pad_token, unk_token });
    this.#specialTokens = Object.fromEntries(
      entries.filter((entry): entry is [string, string] => entry[1] !== undefined)
    );
  }

  /** @throws PipelineError DataInvalid when the template raises an error */
  render(messages: readonly ChatMessage[], options: RenderOptions): string {
    const [message] = messages;
    if (!this.#passesThrough || messages.length !== 1 || message === undefined) return this.#render(messages, options);
    const frame = this.#frame(message.role, options);
    return frame === null ? this.#render(messages, options) : frame[0] + message.content + frame[1];
  }

  #frame(role: ChatMessage['role'], options: RenderOptions): readonly [string, string] | null {
    const key = `${role} ${options.addGenerationPrompt} ${options.enableThinking}`;
    let frame = this.#frames.get(key);
    if (frame === undefined) {
      const parts = this.#render([{ role, content: PLACEHOLDER }], options).split(PLACEHOLDER);
      frame = parts.length === 2 ? [parts[0] as string, parts[1] as string] : null;
      this.#frames.set(key, frame);
    }
    return frame;
  }

  #render(messages: readonly ChatMessage[], options: RenderOptions): string {
    const { addGenerationPrompt = true, enableThinking } = options;
    try {
      return this.#template.render({
        ...this.#specialTokens,
        messages,
        tools: null,
        documents: null,
        add_generation_prompt: addGenerationPrompt,
        ...(enableThinking === null || enableThinking === undefined ? {} : { enable_thinking: enableThinking }),
      });
    } catch (error) {
      throw this.#failure('cannot render the prompt', error);
    }
  }

  #failure(what: string, error: unknown): PipelineError {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the chat template of ${this.directory} ${what}: ${reason}. Take the template of the model’s pinned revision.`;
    return new PipelineError('DataInvalid', message, { where: this.directory }, { cause: error });
  }
}
