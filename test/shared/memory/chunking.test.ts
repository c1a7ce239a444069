import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { chunkContext, chunkIds, prepareContext } from '../../../shared/memory/chunking.js';
import { truncateToTokens } from '../../../shared/memory/truncate.js';
import { loadTokenizer } from '../../../shared/tokenizer/tokenizer.js';
import type { Tokenizer } from '../../../shared/tokenizer/types.js';
import { HOSTILE_TEXTS, wellFormed } from '../../fixtures/hostile.js';
import { TINY } from '../tokenizer/tiny.js';

let tiny: Tokenizer;
beforeAll(async () => {
  tiny = await loadTokenizer(TINY);
});

describe('chunks', () => {
  it('lose nothing, overlap nowhere, and are full but the last', () => {
    const ids = fc.array(fc.nat(500), { maxLength: 60 });
    fc.assert(
      fc.property(ids, fc.integer({ min: 1, max: 20 }), (all, chunkTokens) => {
        const { chunks, truncated, totalTokens } = chunkIds(all, { chunkTokens, maxChunks: 100 });
        expect(chunks.flat()).toEqual(all);
        expect(chunks.slice(0, -1).every((chunk) => chunk.length === chunkTokens)).toBe(true);
        expect(chunks.every((chunk) => chunk.length > 0)).toBe(true);
        expect([truncated, totalTokens]).toEqual([false, all.length]);
      })
    );
  });

  it('beyond the most are left out and told, not one chunk too early', () => {
    const ids = Array.from({ length: 12 }, (_, at) => at);
    expect(chunkIds(ids, { chunkTokens: 4, maxChunks: 3 })).toMatchObject({ truncated: false });
    expect(chunkIds([...ids, 12], { chunkTokens: 4, maxChunks: 3 })).toEqual({
      chunks: [ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)],
      totalTokens: 13,
      truncated: true,
    });
  });

  it('of a prepared context are texts, with the tokens that were read and those that were there', async () => {
    const limits = { chunkTokens: 3, memoryTokens: 1, finalTokens: 1, maxChunks: 2 };
    const context = ' the memory<|im_end|> and the memory and';
    expect(await prepareContext(tiny, context, limits)).toEqual({
      chunks: [' the memory', ' and the memory'],
      numChunks: 2,
      totalTokens: 7,
      tokensRead: 6,
      truncated: true,
    });
    expect(await prepareContext(tiny, '', limits)).toMatchObject({ chunks: [], totalTokens: 0, truncated: false });
  });

  it('of hostile contexts hold the context, special tokens apart', () => {
    for (const { text } of HOSTILE_TEXTS) {
      const { chunks } = chunkContext(tiny, text, { chunkTokens: 100_000, maxChunks: 1 });
      expect(chunks.join('')).toBe(wellFormed(text).normalize('NFC'));
    }
  });

  it.each([
    [{ chunkTokens: 0, maxChunks: 1 }, 'memory.chunkTokens'],
    [{ chunkTokens: 2.5, maxChunks: 1 }, 'memory.chunkTokens'],
    [{ chunkTokens: 1, maxChunks: -1 }, 'memory.maxChunks'],
  ])('are refused with the limits %j, naming the wrong one', (limits, name) => {
    expect(() => chunkIds([1], limits)).toThrow(`${name} must be a positive whole number`);
  });
});

describe('the memory cap', () => {
  it('holds for every text, and leaves what fits as it is', () => {
    const pieces = ['the', ' memory', 'aaaa', '<|im_end|>', '🦩', 'e\u0301', '\n\n', ' ', '中', '\ud800'];
    const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 20 }), (text, cap) => {
        const bounded = truncateToTokens(tiny, text, cap);
        expect(bounded.length).toBe(tiny.encode(bounded.text).length);
        expect(bounded.length).toBeLessThanOrEqual(cap);
        const ids = tiny.encode(text);
        // Normal form and special tokens are the only changes to a text that fits.
        if (ids.length <= cap) expect(bounded.text).toBe(tiny.decode(ids));
      })
    );
  });

  it('drops characters, not halves of them, when the decoded text has more tokens than were kept', () => {
    // One id, a third of the flamingo's bytes, decodes to U+FFFD, which takes three ids: nothing of it can stay.
    expect(tiny.encode('🦩').length).toBeGreaterThan(1);
    expect(truncateToTokens(tiny, '🦩', 1)).toEqual({ text: '', length: 0 });
    expect(truncateToTokens(tiny, 'ab🦩', 3)).toEqual({ text: 'ab', length: 2 });
  });

  it('must be positive', () => {
    expect(() => truncateToTokens(tiny, 'x', 0)).toThrow('memory.memoryTokens must be a positive whole number, got 0');
  });
});
