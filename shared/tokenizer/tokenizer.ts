import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import { PipelineError } from '../contracts/pipeline-error.js';
import { setBounded } from '../runtime/bounded-map.js';
import { ByteDecoder } from './byte-decoder.js';
import { ChatTemplate } from './chat-template.js';
import { brokenTokenizer, readTokenizerFiles, type TokenizerFiles } from './tokenizer-files.js';
import type { ChatMessage, DecodeOptions, RenderOptions, Tokenizer } from './types.js';
import { wordEncoderFor, type WordEncoder } from './word-encoder.js';

/** The parts that depend on the files' contents only: folders with equal files share them. */
interface Core {
  library: LibraryTokenizer;
  words: WordEncoder | undefined;
  bytes: ByteDecoder | undefined;
  template: ChatTemplate | undefined;
  specialIds: ReadonlySet<number>;
  eosTokenIds: readonly number[];
  sha256: string;
  contentKey: string;
}

/** Tokenizers kept, with the prompts that were encoded with them: every converted model is a folder of its own. */
const KEPT = 16;
const byPath = new Map<string, Promise<Tokenizer>>();
const byContent = new Map<string, Core>();

/**
 * The tokenizer of a model folder, loaded once per thread (and again when its files have changed).
 *
 * @param directory folder with `tokenizer.json` and `tokenizer_config.json`
 * @throws PipelineError PinMismatch when a file is missing, DataInvalid when one is broken
 */
export async function loadTokenizer(directory: string): Promise<Tokenizer> {
  const path = resolve(directory);
  const key = `${path}:${await fileState(path)}`;
  const known = byPath.get(key);
  if (known !== undefined) return known;
  const loading = load(path);
  setBounded(byPath, key, loading, KEPT);
  try {
    return await loading;
  } catch (error) {
    byPath.delete(key);
    throw error;
  }
}

/** Changes when one of the files does. */
async function fileState(directory: string): Promise<string> {
  const names = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'generation_config.json'];
  const states = names.map(async (name) => {
    const info = await stat(join(directory, name)).catch(() => undefined);
    return info === undefined ? '-' : `${info.ino}.${info.size}.${info.mtimeMs}`;
  });
  return (await Promise.all(states)).join(',');
}

async function load(directory: string): Promise<Tokenizer> {
  const files = await readTokenizerFiles(directory);
  let core = byContent.get(files.contentKey);
  if (core === undefined) {
    core = buildCore(files, directory);
    byContent.set(files.contentKey, core);
  }
  return new HfTokenizer(directory, core);
}

function buildCore(files: TokenizerFiles, directory: string): Core {
  const library = buildLibrary(files, directory);
  const { json, config } = files;
  const { model } = library;
  if (model === null) throw brokenTokenizer(join(directory, 'tokenizer.json'), 'it has no model');
  const names = new Set((config.additional_special_tokens ?? []).filter((name) => name !== undefined));
  const special = json.added_tokens.filter((token) => token.special || names.has(token.content));
  const eos = config.eos_token === undefined ? undefined : library.token_to_id(config.eos_token);
  return {
    library,
    words: wordEncoderFor(library, json),
    bytes: json.decoder?.type === 'ByteLevel' ? new ByteDecoder(model.vocab) : undefined,
    template: files.chatTemplate === undefined ? undefined : new ChatTemplate(files.chatTemplate, config, directory),
    specialIds: new Set(special.map(({ id }) => id)),
    eosTokenIds: [...new Set([...(eos === undefined ? [] : [eos]), ...files.generationEosIds])].sort((a, b) => a - b),
    sha256: files.sha256,
    contentKey: files.contentKey,
  };
}

function buildLibrary({ json, config }: TokenizerFiles, directory: string): LibraryTokenizer {
  try {
    return new LibraryTokenizer(json, config);
  } catch (error) {
    throw brokenTokenizer(join(directory, 'tokenizer.json'), (error as Error).message, error);
  }
}

class HfTokenizer implements Tokenizer {
  readonly sha256: string;
  readonly contentKey: string;
  readonly vocabSize: number;
  readonly eosTokenIds: readonly number[];
  readonly #core: Core;
  readonly #vocabulary: readonly (string | undefined)[];

  constructor(
    readonly directory: string,
    core: Core
  ) {
    this.#core = core;
    this.#vocabulary = core.library.model?.vocab ?? [];
    this.sha256 = core.sha256;
    this.contentKey = core.contentKey;
    this.vocabSize = this.#vocabulary.length;
    this.eosTokenIds = core.eosTokenIds;
  }

  encode(text: string, limit = Infinity): number[] {
    // What is not UTF-16 cannot become UTF-8 either: lone surrogates are U+FFFD from here on.
    const wellFormed = text.toWellFormed();
    const { words, library } = this.#core;
    if (words !== undefined) return words.encode(wellFormed, limit);
    return library.encode(wellFormed, { add_special_tokens: false }).ids.slice(0, limit);
  }

  decode(given: readonly number[], { skipSpecialTokens = true, skipPadding = false }: DecodeOptions = {}): string {
    const ids = skipPadding ? given.filter((id) => id < this.vocabSize) : given;
    if (ids.length === 0) return '';
    for (const id of ids) {
      if (this.#vocabulary[id] === undefined) throw this.#unknownId(id);
    }
    const { bytes, library, specialIds } = this.#core;
    if (bytes !== undefined) return bytes.decode(ids, (id) => skipSpecialTokens && specialIds.has(id));
    const kept = skipSpecialTokens ? ids.filter((id) => !specialIds.has(id)) : [...ids];
    return kept.length === 0 ? '' : library.decode(kept, { clean_up_tokenization_spaces: false });
  }

  #unknownId(id: number): PipelineError {
    return new PipelineError(
      'GenerationFailed',
      `token id ${id} is not in the vocabulary of ${this.directory} (ids 0 to ${this.vocabSize - 1}): the server runs another model or tokenizer`,
      { where: this.directory, cure: 'Serve the model whose tokenizer the recipe names.' }
    );
  }

  renderChat(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    const { template } = this.#core;
    if (template !== undefined) return template.render(messages, options);
    throw new PipelineError(
      'DataInvalid',
      `${this.directory} has no chat template: neither chat_template.jinja nor chat_template in tokenizer_config.json`,
      { where: this.directory, cure: 'Take the tokenizer files of a chat model, with their template.' }
    );
  }
}
