import { GenerationalCache } from '../tokenizer/generational-cache.js';
import { LARGE_TEXT, poolFor } from '../tokenizer/pool.js';
import type { ChatMessage, Tokenizer } from '../tokenizer/types.js';

/**
 * Prompts kept with their ids. The trajectories of one group share their first prompt and, with a small model, many of the
 * later ones; a long prompt is too rarely met again to be worth its memory.
 */
const KEPT_PROMPTS = 2048;
const LONGEST_KEPT = 4096;

const caches = new WeakMap<Tokenizer, Map<string, GenerationalCache<readonly number[]>>>();

export interface Prompt {
  ids: readonly number[];
  messages: ChatMessage[];
}

/**
 * Ids of an instruction rendered as one user message with the generation prompt: exactly the ids of the whole rendered
 * text. Long prompts are encoded in a worker thread.
 */
export async function encodePrompt(
  tokenizer: Tokenizer,
  instruction: string,
  enableThinking: boolean | null,
  signal?: AbortSignal
): Promise<Prompt> {
  const messages: ChatMessage[] = [{ role: 'user', content: instruction }];
  const isKept = instruction.length <= LONGEST_KEPT;
  const cache = cacheOf(tokenizer, enableThinking);
  const known = isKept ? cache.get(instruction) : undefined;
  if (known !== undefined) return { ids: known, messages };
  const text = tokenizer.renderChat(messages, { addGenerationPrompt: true, enableThinking });
  const ids = await encodeText(tokenizer, text, signal);
  if (isKept) cache.set(instruction, ids);
  return { ids, messages };
}

/** Ids of a text; a long one is encoded in a worker thread. */
export async function encodeText(
  tokenizer: Tokenizer,
  text: string,
  signal: AbortSignal | undefined
): Promise<readonly number[]> {
  if (text.length <= LARGE_TEXT) return tokenizer.encode(text);
  return await poolFor(tokenizer).run({ kind: 'encode', text }, signal);
}

function cacheOf(tokenizer: Tokenizer, enableThinking: boolean | null): GenerationalCache<readonly number[]> {
  let byThinking = caches.get(tokenizer);
  if (byThinking === undefined) caches.set(tokenizer, (byThinking = new Map()));
  const key = String(enableThinking);
  let cache = byThinking.get(key);
  if (cache === undefined) byThinking.set(key, (cache = new GenerationalCache(KEPT_PROMPTS)));
  return cache;
}
