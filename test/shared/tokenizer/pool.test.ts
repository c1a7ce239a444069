import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { prepareContext, chunkContext } from '../../../shared/memory/chunking.js';
import { closeTokenizerPools, LARGE_TEXT, poolFor, TokenizerPool } from '../../../shared/tokenizer/pool.js';
import { loadTokenizer } from '../../../shared/tokenizer/tokenizer.js';
import { TINY, tinyCopy } from './tiny.js';

// The worker threads run the compiled package: `make build` first.

const text = 'and the memory of <|im_end|> the 🦩 and <think>\n\n'.repeat(4_000);
const pools: TokenizerPool[] = [];

function newPool(options: Partial<ConstructorParameters<typeof TokenizerPool>[0]> = {}): TokenizerPool {
  const pool = new TokenizerPool({ directory: TINY, ...options });
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await closeTokenizerPools();
});

describe('a tokenizer’s worker threads', () => {
  it('give what the tokenizer gives in this thread', async () => {
    const tokenizer = await loadTokenizer(TINY);
    const pool = newPool({ size: 2 });
    const [ids, first, bounded, chunked] = await Promise.all([
      pool.run({ kind: 'encode', text }),
      pool.run({ kind: 'encode', text, limit: 5 }),
      pool.run({ kind: 'truncate', text, maxTokens: 7 }),
      pool.run({ kind: 'chunk', context: text, chunkTokens: 1000, maxChunks: 3 }),
    ]);
    expect(ids).toEqual(tokenizer.encode(text));
    expect(Array.isArray(ids)).toBe(true);
    expect(first).toEqual(tokenizer.encode(text, 5));
    expect(bounded).toEqual({ text: 'and the memory of ', length: 7 });
    expect(chunked).toEqual(chunkContext(tokenizer, text, { chunkTokens: 1000, maxChunks: 3 }));
    expect(pool.workers).toBe(2);
  });

  it('leave the event loop free while they work', async () => {
    let turns = 0;
    let done = false;
    const count = (): void => {
      turns += 1;
      if (!done) setTimeout(count, 1);
    };
    setTimeout(count, 1);
    await newPool().run({ kind: 'encode', text });
    done = true;
    // Encoding in this thread would let the loop go round once or twice only.
    expect(turns).toBeGreaterThan(5);
  });

  it('are used for a context above the limit, and not for a small one', async () => {
    const tokenizer = await loadTokenizer(TINY);
    const limits = { chunkTokens: 100, memoryTokens: 8, finalTokens: 8, maxChunks: 4 };
    await prepareContext(tokenizer, 'x'.repeat(LARGE_TEXT), limits);
    expect(poolFor(tokenizer).workers).toBe(0);
    const context = text.slice(0, LARGE_TEXT + 1);
    expect(await prepareContext(tokenizer, context, limits)).toEqual(chunkContext(tokenizer, context, limits));
    expect(poolFor(tokenizer).workers).toBe(1);
  });

  it('fail only the text a worker dies of, and go on with a new worker', async () => {
    const pool = newPool({ entry: fileURLToPath(new URL('mortal-worker.mjs', import.meta.url)) });
    const fatal = pool.run({ kind: 'encode', text: 'die' });
    const after = pool.run({ kind: 'encode', text: 'the' });
    await expect(fatal).rejects.toMatchObject({
      type: 'GenerationFailed',
      message: 'the tokenizer’s worker thread died while it worked on a text: exit code 9',
    });
    expect(await after).toHaveLength(1);
    expect(pool.workers).toBe(1);
  });

  it('pass on a job’s own error with its type', async () => {
    const pool = newPool();
    await expect(pool.run({ kind: 'truncate', text: 'x', maxTokens: 0 })).rejects.toMatchObject({
      name: 'PipelineError',
      type: 'RecipeInvalid',
    });
    const broken = newPool({ directory: await tinyCopy({ tokenizer: () => '{' }) });
    await expect(broken.run({ kind: 'encode', text: 'x' })).rejects.toMatchObject({ type: 'DataInvalid' });
  });

  it('refuse more waiting texts than allowed', async () => {
    const pool = newPool({ maxQueued: 1 });
    const running = pool.run({ kind: 'encode', text });
    const waiting = pool.run({ kind: 'encode', text: 'the' });
    await expect(pool.run({ kind: 'encode', text: 'and' })).rejects.toThrow(/1 texts are waiting/);
    expect(await waiting).toHaveLength(1);
    await running;
  });

  it('drop a waiting text when its signal is aborted, and nothing else', async () => {
    const pool = newPool();
    const stop = new AbortController();
    const running = pool.run({ kind: 'encode', text });
    const dropped = pool.run({ kind: 'encode', text: 'the' }, stop.signal);
    const kept = pool.run({ kind: 'encode', text: 'and' });
    stop.abort(new Error('no longer wanted'));
    await expect(dropped).rejects.toThrow('no longer wanted');
    await expect(pool.run({ kind: 'encode', text: 'x' }, stop.signal)).rejects.toThrow('no longer wanted');
    expect(await kept).toHaveLength(1);
    await running;
  });

  it('reject what is not done when they are closed, and everything after', async () => {
    const pool = newPool();
    const running = pool.run({ kind: 'encode', text });
    const waiting = pool.run({ kind: 'encode', text: 'the' });
    const failures = Promise.allSettled([running, waiting]);
    await pool.close();
    for (const outcome of await failures)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: expect.stringContaining('closed') as string },
      });
    expect(pool.workers).toBe(0);
    await expect(pool.run({ kind: 'encode', text: 'x' })).rejects.toThrow(/closed/);
  });
});
