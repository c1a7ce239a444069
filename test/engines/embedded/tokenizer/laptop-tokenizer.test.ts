import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { laptopPassages, promptPassages } from '../../../../engines/embedded/tokenizer/passages.js';
import {
  END_ID,
  tokenizerJson,
  VOCABULARY_SIZE,
  writeTokenizer,
} from '../../../../engines/embedded/tokenizer/build.js';
import { LAPTOP_KEYS, LAPTOP_VALUES, laptopFact, laptopQuestion } from '../../../../shared/data/laptop-task.js';
import { chunkContext } from '../../../../shared/memory/chunking.js';
import { finalInstruction, memoryInstruction, NO_MEMORY } from '../../../../shared/memory/prompts.js';
import { loadTokenizer } from '../../../../shared/tokenizer/tokenizer.js';
import type { Tokenizer } from '../../../../shared/tokenizer/types.js';
import { LAPTOP, temporaryFolder } from '../support.js';

let tokenizer: Tokenizer;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  tokenizer = await loadTokenizer(LAPTOP);
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

function rendered(content: string): string {
  return tokenizer.renderChat([{ role: 'user', content }]);
}

const FACTS = laptopFact('amber', '47') + laptopFact('anchor', '11') + laptopFact('apple', '00');

describe('the laptop tokenizer', () => {
  it('is the one that the builder makes, to the byte', async () => {
    await writeTokenizer(folder.path, 1024);
    for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'])
      expect(readFileSync(join(folder.path, name), 'utf8')).toBe(readFileSync(join(LAPTOP, name), 'utf8'));
  });

  it('has one id for every passage, key and value, and a text for every id that a model can emit', () => {
    for (const passage of laptopPassages()) expect(tokenizer.encode(passage), JSON.stringify(passage)).toHaveLength(1);
    expect(tokenizer.vocabSize).toBe(VOCABULARY_SIZE);
    for (let id = 0; id < VOCABULARY_SIZE; id += 1) expect(typeof tokenizer.decode([id])).toBe('string');
    expect(new Set(LAPTOP_KEYS.map((key) => tokenizer.encode(laptopQuestion(key))[0])).size).toBe(64);
    expect(new Set(LAPTOP_VALUES.map((value) => tokenizer.encode(value)[0])).size).toBe(100);
    expect(tokenizer.eosTokenIds).toContain(END_ID);
  });

  it('gives no text two ids: the Hugging Face library would number the later ones anew', () => {
    const { added_tokens: added, model } = JSON.parse(readFileSync(join(LAPTOP, 'tokenizer.json'), 'utf8')) as {
      added_tokens: { id: number; content: string }[];
      model: { vocab: Record<string, number> };
    };
    const texts = [...Object.keys(model.vocab), ...added.map(({ content }) => content)];
    expect(new Set(texts).size).toBe(VOCABULARY_SIZE);
    expect(added.map(({ id }) => id)).toEqual(added.map((_, index) => 256 + index));
    expect(() => tokenizerJson(['amber=', '}'])).toThrow('"}" would have two ids');
  });

  it('writes a whole memory prompt with three facts in 21 tokens, and a final prompt in 13 or fewer', () => {
    const memory = rendered(
      memoryInstruction({ question: 'amber=', memory: NO_MEMORY, chunk: FACTS, evaluation: false })
    );
    expect(tokenizer.encode(memory)).toHaveLength(21);
    const final = rendered(finalInstruction({ question: 'amber=', memory: 'amber=47', evaluation: true }));
    expect(tokenizer.encode(final).length).toBeLessThanOrEqual(13);
  });

  it('tells training and evaluation prompts apart by one id and by nothing else', () => {
    const ids = [false, true].map((evaluation) =>
      tokenizer.encode(rendered(memoryInstruction({ question: 'amber=', memory: NO_MEMORY, chunk: FACTS, evaluation })))
    );
    const different = ids[0]!.flatMap((id, at) => (id === ids[1]![at] ? [] : [at]));
    expect(different).toHaveLength(1);
    expect(promptPassages()).toHaveLength(8);
  });

  it('keeps the end of a trimmed context out of the byte fallback', () => {
    const chunk = FACTS.trimEnd();
    const ids = tokenizer.encode(
      rendered(memoryInstruction({ question: 'amber=', memory: NO_MEMORY, chunk, evaluation: true }))
    );
    // Only the line break between the two halves of the chat template is a byte.
    expect(ids.filter((id) => id < 256)).toEqual([10]);
    expect(ids).toHaveLength(21);
  });

  it('cuts contexts between facts when chunks are a multiple of three tokens', () => {
    const context = FACTS.repeat(8).trim();
    const { chunks } = chunkContext(tokenizer, context, { chunkTokens: 24, maxChunks: 64 });
    expect(chunks).toHaveLength(3);
    for (const chunk of chunks) expect(chunk).toMatch(/^(\w+=\d\d;\n){7}\w+=\d\d;\n?$/);
    expect(chunks.join('')).toBe(context);
  });

  it('gives every Unicode text back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const wellFormed = text.toWellFormed();
        expect(tokenizer.decode(tokenizer.encode(wellFormed), { skipSpecialTokens: false })).toBe(wellFormed);
      })
    );
  });

  it('renders conversations as Qwen3 does', () => {
    const messages = [
      { role: 'system' as const, content: 's' },
      { role: 'user' as const, content: 'u' },
    ];
    const head = '<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n';
    expect(tokenizer.renderChat(messages)).toBe(`${head}<|im_start|>assistant\n`);
    expect(tokenizer.renderChat(messages, { addGenerationPrompt: false })).toBe(head);
    expect(tokenizer.renderChat(messages, { enableThinking: false })).toBe(
      `${head}<|im_start|>assistant\n<think>\n\n</think>\n\n`
    );
  });
});
