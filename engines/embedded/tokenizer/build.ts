import { join } from 'node:path';
import { writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import { BYTE_TO_CHARACTER } from '../../../shared/tokenizer/byte-alphabet.js';
import { laptopPassages } from './passages.js';

/** Ids of the laptop tokenizer: 256 bytes, then special tokens, then passages, then reserved tokens up to the full vocabulary. */
export const VOCABULARY_SIZE = 512;

export const SPECIAL_TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const;

const BYTES = BYTE_TO_CHARACTER.length;
export const PAD_ID = BYTES;
export const END_ID = BYTES + 2;

/**
 * Qwen3's template for conversations without tools and without earlier reasoning: one `<|im_start|>role … <|im_end|>` block a
 * message; `enable_thinking: false` puts an empty thinking block in front of the reply.
 */
export const CHAT_TEMPLATE = [
  "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{%- endfor %}",
  "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}",
  "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}",
].join('\n');

interface AddedTokenJson {
  id: number;
  content: string;
  single_word: false;
  lstrip: false;
  rstrip: false;
  normalized: false;
  special: boolean;
}

function addedTokens(passages: readonly string[]): AddedTokenJson[] {
  const used = BYTES + SPECIAL_TOKENS.length + passages.length;
  if (used > VOCABULARY_SIZE) throw new RangeError(`${used} tokens do not fit a vocabulary of ${VOCABULARY_SIZE}`);
  const twice = passages.find(
    (passage, index) => BYTE_TO_CHARACTER.includes(passage) || passages.indexOf(passage) < index
  );
  if (twice !== undefined) throw new RangeError(`${JSON.stringify(twice)} would have two ids`);
  // Every id that the model can emit must decode: what is left over becomes tokens that decode to nothing.
  const reserved = Array.from({ length: VOCABULARY_SIZE - used }, (_, index) => `<|reserved_${index}|>`);
  const special = new Set<string>([...SPECIAL_TOKENS, ...reserved]);
  return [...SPECIAL_TOKENS, ...passages, ...reserved].map((content, index) => ({
    id: BYTES + index,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: special.has(content),
  }));
}

/** `tokenizer.json`: byte-level BPE without merges, so that any Unicode text survives a round trip; passages are added tokens. */
export function tokenizerJson(passages: readonly string[] = laptopPassages()): object {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(passages),
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(BYTE_TO_CHARACTER.map((character, byte) => [character, byte])),
      merges: [],
    },
  };
}

/** `tokenizer_config.json` with the chat template. */
export function tokenizerConfigJson(maxPositions: number): object {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    add_bos_token: false,
    add_prefix_space: false,
    bos_token: null,
    eos_token: '<|im_end|>',
    pad_token: '<|endoftext|>',
    unk_token: null,
    clean_up_tokenization_spaces: false,
    model_max_length: maxPositions,
    chat_template: CHAT_TEMPLATE,
  };
}

/** `generation_config.json`: both end tokens, as Qwen3 has them. */
export function generationConfigJson(): object {
  return { do_sample: true, eos_token_id: [END_ID, PAD_ID], pad_token_id: PAD_ID, temperature: 1, top_p: 1 };
}

/** Writes the three files into a model folder; equal inputs give equal bytes. */
export async function writeTokenizer(folder: string, maxPositions: number): Promise<void> {
  const files: [string, object][] = [
    ['tokenizer.json', tokenizerJson()],
    ['tokenizer_config.json', tokenizerConfigJson(maxPositions)],
    ['generation_config.json', generationConfigJson()],
  ];
  for (const [name, content] of files)
    await writeFileAtomic(join(folder, name), `${JSON.stringify(content, null, 2)}\n`);
}
