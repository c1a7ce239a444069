/** What the rest of the system sees of a tokenizer with its chat template. */

/** One message of a conversation, in the chat template's own terms. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface RenderOptions {
  /** End with the opening of the assistant's turn. Default true. */
  addGenerationPrompt?: boolean;
  /**
   * The template's `enable_thinking` variable. null or left out = undefined in the template, which Qwen3's template reads
   * like true; false makes it append an empty thinking block.
   */
  enableThinking?: boolean | null;
}

export interface DecodeOptions {
  /** Leave special tokens out. Default true. */
  skipSpecialTokens?: boolean;
  /**
   * Ids above the tokenizer's vocabulary stand for no text. Default false: they are an error.
   *
   * Models have more rows than their tokenizer has tokens (Qwen3: 151,936 for 151,669), and can sample such an id. Hugging
   * Face's tokenizers, so also the detokenizers of SGLang and vLLM and the references' own decoding, pass over it.
   */
  skipPadding?: boolean;
}

export interface Tokenizer {
  /** Absolute path of the folder the files were read from. */
  readonly directory: string;
  /** SHA-256 (hex) of `tokenizer.json`. */
  readonly sha256: string;
  /** Hash over all tokenizer files of the folder: equal keys, equal behaviour. */
  readonly contentKey: string;
  /** Highest token id plus 1. */
  readonly vocabSize: number;
  /** Ids that end a reply: the tokenizer's `eos_token` and those of `generation_config.json`, ascending. */
  readonly eosTokenIds: readonly number[];
  /**
   * Token ids of a text; nothing is put in front or behind. Special-token text becomes special ids.
   *
   * @param limit most ids: the same as `encode(text).slice(0, limit)`, without looking at the rest. Default: all
   */
  encode(text: string, limit?: number): number[];
  /**
   * Text of token ids; `[]` gives "".
   *
   * @throws PipelineError GenerationFailed naming the first id that is not in the vocabulary
   */
  decode(ids: readonly number[], options?: DecodeOptions): string;
  /** A conversation as the model's chat template renders it. */
  renderChat(messages: readonly ChatMessage[], options?: RenderOptions): string;
}
