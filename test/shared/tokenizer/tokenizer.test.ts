import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Tokenizer as LibraryTokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadTokenizer } from '../../../shared/tokenizer/tokenizer.js';
import type { Tokenizer } from '../../../shared/tokenizer/types.js';
import { HOSTILE_TEXTS } from '../../fixtures/hostile.js';
import { TINY, TINY_IDS, tinyCopy } from './tiny.js';

let tiny: Tokenizer;
let library: LibraryTokenizer;

async function libraryFor(folder: string): Promise<LibraryTokenizer> {
  const read = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as object;
  return new LibraryTokenizer(await read('tokenizer.json'), await read('tokenizer_config.json'));
}

function libraryIds(text: string, from = library): number[] {
  return from.encode(text, { add_special_tokens: false }).ids;
}

/** Texts in which added tokens, merges, white space, marks and half characters meet. */
const pieces = [
  'the',
  ' and',
  ' memory',
  'aaaaaaaa',
  '<|im_end|>',
  '<|im_start|>',
  '<problem>',
  '<problem> \n',
  '<think>',
];
const odd = [
  'é!',
  'e\u0301!',
  '\u0301',
  '\n',
  '\r\n',
  ' ',
  '   ',
  "'s",
  "'LL",
  '1',
  '中',
  '🦩',
  '\ufeff',
  '\u0085',
  '\u2028',
  '\ud800',
];
const texts = fc
  .array(fc.oneof(fc.constantFrom(...pieces, ...odd), fc.string({ unit: 'grapheme', maxLength: 4 })), { maxLength: 20 })
  .map((parts) => parts.join(''));

beforeAll(async () => {
  tiny = await loadTokenizer(TINY);
  library = await libraryFor(TINY);
});

describe('encode', () => {
  it('gives the ids of the library for any text', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(tiny.encode(text)).toEqual(libraryIds(text.toWellFormed()));
      }),
      {
        numRuns: 500,
      }
    );
  });

  it('gives the same ids when its words are known already', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(tiny.encode(text)).toEqual(tiny.encode(text));
      })
    );
  });

  it.each([100, 3000])('gives the ids of the library for one word of %i letters', (length) => {
    const letters = fc.array(fc.constantFrom('t', 'h', 'e', 'a', 'n', 'd', 'o', 'r', 'm'), {
      minLength: length,
      maxLength: length,
    });
    fc.assert(
      fc.property(letters, (all) => {
        expect(tiny.encode(all.join(''))).toEqual(libraryIds(all.join('')));
      }),
      {
        numRuns: 20,
      }
    );
  });

  it('with a limit gives the first ids of the whole text', () => {
    fc.assert(
      fc.property(texts, fc.nat(30), (text, limit) => {
        expect(tiny.encode(text, limit)).toEqual(tiny.encode(text).slice(0, limit));
      })
    );
  });

  it('takes the longest of the added tokens that start at the same place', () => {
    expect(tiny.encode('<problem> \n')).toEqual([TINY_IDS.problemLine]);
    expect(tiny.encode('<problem> ')).toEqual([TINY_IDS.problem, ...tiny.encode(' ')]);
  });

  it('reads lone surrogates as U+FFFD', () => {
    expect(tiny.encode('a\ud800b\udc00')).toEqual(tiny.encode('a\ufffdb\ufffd'));
  });

  it('gives nothing for an empty text', () => {
    expect(tiny.encode('')).toEqual([]);
  });
});

describe('encode of other kinds of tokenizers', () => {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };

  it.each([
    ['GPT-2’s pattern', { pre_tokenizer: byteLevel }],
    ['no pattern', { pre_tokenizer: { ...byteLevel, use_regex: false } }],
    ['no normal form', { normalizer: null }],
    ['a prefix space', { pre_tokenizer: { ...byteLevel, add_prefix_space: true } }],
    [
      'single digits',
      { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel] } },
    ],
    ['lower case', { normalizer: { type: 'Lowercase' } }],
  ])('gives the ids of the library with %s', async (_, change) => {
    const folder = await tinyCopy({ tokenizer: (json) => ({ ...json, ...change }) });
    const tokenizer = await loadTokenizer(folder);
    const itsLibrary = await libraryFor(folder);
    // The library’s version of GPT-2’s pattern has JavaScript’s white space, which differs in these two characters.
    const common = texts.map((text) => text.replace(/[\u0085\ufeff]/g, '').toWellFormed());
    fc.assert(
      fc.property(common, (text) => {
        expect(tokenizer.encode(text)).toEqual(libraryIds(text, itsLibrary));
      })
    );
    await rm(folder, { recursive: true });
  });

  it('takes U+FEFF for no white space in GPT-2’s pattern, as the Rust library does', async () => {
    const merges = (json: Record<string, unknown>) => ({ ...json, pre_tokenizer: byteLevel });
    const folder = await tinyCopy({ tokenizer: merges });
    const tokenizer = await loadTokenizer(folder);
    // " the" is one token only when the space before it is not taken into a run of white space with U+FEFF.
    expect(tokenizer.encode('\ufeff the')).toEqual([...tokenizer.encode('\ufeff'), ...tokenizer.encode(' the')]);
    expect(tokenizer.encode(' the')).toHaveLength(1);
    await rm(folder, { recursive: true });
  });

  it('takes a whole word of the vocabulary without merging when the model ignores merges', async () => {
    const folder = await tinyCopy({
      tokenizer: (json) => {
        const model = json['model'] as { vocab: Record<string, number> };
        return { ...json, model: { ...model, vocab: { ...model.vocab, zebra: 287 }, ignore_merges: true } };
      },
    });
    expect((await loadTokenizer(folder)).encode('zebra')).toEqual([287]);
    await rm(folder, { recursive: true });
  });
});

describe('decode', () => {
  it('gives back every text that is in normal form, special tokens kept', () => {
    const normal = texts.map((text) => text.toWellFormed().normalize('NFC'));
    fc.assert(
      fc.property(normal, (text) => {
        // The added token "é!" is the one token that does not stand for its own text: its characters are bytes of the alphabet.
        fc.pre(!text.includes('é!'));
        expect(tiny.decode(tiny.encode(text), { skipSpecialTokens: false })).toBe(text);
      })
    );
  });

  it('gives an empty text for no ids', () => {
    expect(tiny.decode([])).toBe('');
    expect(tiny.decode([TINY_IDS.imEnd])).toBe('');
  });

  it('leaves special tokens out by default, and only them', () => {
    const ids = tiny.encode('a<|im_end|>b<think>c<|endoftext|>');
    expect(tiny.decode(ids)).toBe('ab<think>c');
    expect(tiny.decode(ids, { skipSpecialTokens: false })).toBe('a<|im_end|>b<think>c<|endoftext|>');
  });

  it('gives U+FFFD for a character cut in two, and keeps a byte order mark', () => {
    const ids = tiny.encode('🦩');
    expect(tiny.decode(ids.slice(0, 1))).toBe('\ufffd');
    expect(tiny.decode(tiny.encode('\ufeffx'))).toBe('\ufeffx');
  });

  it.each([287, -1, 1.5, Number.NaN])('refuses id %d, which is not in the vocabulary, naming it', (id) => {
    expect(() => tiny.decode([1, id, 2])).toThrow(`token id ${id} is not in the vocabulary`);
  });
});

describe('chat rendering', () => {
  const messages = [{ role: 'user' as const, content: 'hi $& {{ 7 * 7 }} {% raw %}' }];

  it('puts the content in as it is, with the generation prompt', () => {
    const start = `<|im_start|>user\n${messages[0]?.content}<|im_end|>\n`;
    expect(tiny.renderChat(messages)).toBe(`${start}<|im_start|>assistant\n`);
    expect(tiny.renderChat(messages, { addGenerationPrompt: false })).toBe(start);
  });

  it('tells the template about thinking only when it is set', () => {
    expect(tiny.renderChat(messages, { enableThinking: null })).toBe(tiny.renderChat(messages));
    expect(tiny.renderChat(messages, { enableThinking: true })).toBe(tiny.renderChat(messages));
    expect(tiny.renderChat(messages, { enableThinking: false })).toBe(
      `${tiny.renderChat(messages)}<think>\n\n</think>\n\n`
    );
  });

  it('leaves hostile content as it is', () => {
    for (const { text } of HOSTILE_TEXTS) {
      const rendered = tiny.renderChat([{ role: 'user', content: text }]);
      expect(rendered).toBe(`<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`);
    }
  });

  it('gives the template the special tokens, and takes the file’s template before the configuration’s', async () => {
    const folder = await tinyCopy({ config: (json) => ({ ...json, eos_token: { content: '<|im_end|>' } }) });
    await writeFile(
      join(folder, 'chat_template.jinja'),
      '{{ messages[0].content }}{{ eos_token }}{% if bos_token is defined %}!{% endif %}'
    );
    expect((await loadTokenizer(folder)).renderChat(messages)).toBe(`${messages[0]?.content}<|im_end|>`);
    await rm(folder, { recursive: true });
  });

  it('says what a template raised', async () => {
    const folder = await tinyCopy({
      config: (json) => ({ ...json, chat_template: "{{ raise_exception('roles must alternate') }}" }),
    });
    const tokenizer = await loadTokenizer(folder);
    expect(() => tokenizer.renderChat(messages)).toThrow(/chat template of .* roles must alternate/);
    await rm(folder, { recursive: true });
  });

  it('takes the default one of several templates, and says when there is none', async () => {
    const named = [
      { name: 'tool_use', template: 'T' },
      { name: 'default', template: 'D' },
    ];
    const several = await tinyCopy({ config: (json) => ({ ...json, chat_template: named }) });
    expect((await loadTokenizer(several)).renderChat(messages)).toBe('D');
    const none = await tinyCopy({ config: ({ chat_template: _, ...json }) => json });
    const tokenizer = await loadTokenizer(none);
    expect(() => tokenizer.renderChat(messages)).toThrow(/has no chat template/);
    await Promise.all([several, none].map((folder) => rm(folder, { recursive: true })));
  });
});

describe('loadTokenizer', () => {
  it('tells hash, size and end ids', async () => {
    const bytes = await readFile(join(TINY, 'tokenizer.json'));
    expect(tiny.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(tiny.vocabSize).toBe(287);
    // The end token of the configuration and those of generation_config.json.
    expect(tiny.eosTokenIds).toEqual([TINY_IDS.endOfText, TINY_IDS.imEnd]);
  });

  it('loads a folder once, and again when a file has changed', async () => {
    const folder = await tinyCopy({});
    const first = await loadTokenizer(folder);
    expect(await loadTokenizer(`${folder}/`)).toBe(first);
    const config = JSON.parse(await readFile(join(folder, 'tokenizer_config.json'), 'utf8')) as object;
    await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify({ ...config, chat_template: 'changed' }));
    await utimes(join(folder, 'tokenizer_config.json'), 1, 1);
    const second = await loadTokenizer(folder);
    expect(second.renderChat([{ role: 'user', content: 'x' }])).toBe('changed');
    expect(second.contentKey).not.toBe(first.contentKey);
    await rm(folder, { recursive: true });
  });

  it('names the missing file and the cure', async () => {
    const error = await loadTokenizer(join(TINY, 'nowhere')).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ type: 'PinMismatch', details: { where: join(TINY, 'nowhere', 'tokenizer.json') } });
    expect((error as Error).message).toMatch(/is missing.*pinned revision/);
  });

  it.each([
    ['text that is not JSON', () => '{"model": '],
    ['no model', ({ model: _, ...json }: Record<string, unknown>) => json],
    ['a model without vocabulary', (json: Record<string, unknown>) => ({ ...json, model: { type: 'BPE' } })],
    ['an unknown kind of model', (json: Record<string, unknown>) => ({ ...json, model: { type: 'Magic', vocab: {} } })],
    [
      'a pattern that is none',
      (json: Record<string, unknown>) => ({ ...json, pre_tokenizer: { type: 'Split', pattern: { Regex: '(' } } }),
    ],
  ])('refuses a tokenizer.json with %s, naming the file', async (_, tokenizer) => {
    const folder = await tinyCopy({ tokenizer });
    const error = await loadTokenizer(folder).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'PipelineError', type: 'DataInvalid' });
    expect((error as Error).message).toContain(join(folder, 'tokenizer.json'));
    await rm(folder, { recursive: true });
  });

  it('refuses a chat template with a syntax error, naming the folder', async () => {
    const folder = await tinyCopy({ config: (json) => ({ ...json, chat_template: '{% for %}' }) });
    await expect(loadTokenizer(folder)).rejects.toThrow(`the chat template of ${folder} has a syntax error`);
    await rm(folder, { recursive: true });
  });
});
