import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTokenizer } from '../../../shared/tokenizer/tokenizer.js';
import type { ChatMessage } from '../../../shared/tokenizer/types.js';
import type { Decode } from './generate-reply.js';
import type { ModelFacts } from './messages.js';
import type { ServerLimits } from './parse-generate.js';

/** What the server knows of its model beside the weights. */
export interface ServedModel {
  /** Model folder; another one after an update from disk. */
  path: string;
  name: string;
  limits: ServerLimits;
  decode: Decode;
  /** Chat messages as prompt ids; absent when the model has no tokenizer with a template. */
  renderIds?(messages: readonly ChatMessage[], enableThinking: boolean | null): number[];
}

/** Reads what is needed to speak in texts; a folder without a tokenizer is served by token ids alone. */
export async function servedModel(modelDir: string, facts: ModelFacts): Promise<ServedModel> {
  const limits = { vocabSize: facts.vocabSize, contextLength: facts.contextLength };
  const base = { path: modelDir, name: modelDir };
  if (!existsSync(join(modelDir, 'tokenizer.json'))) {
    return { ...base, limits: { ...limits, eosTokenIds: await generationEosIds(modelDir) }, decode: () => '' };
  }
  const tokenizer = await loadTokenizer(modelDir);
  return {
    ...base,
    limits: { ...limits, eosTokenIds: tokenizer.eosTokenIds, encode: (text) => tokenizer.encode(text) },
    // A vocabulary may be padded beyond the tokenizer: such an id has no text, and is no reason to lose the reply.
    decode: (ids, skipSpecialTokens) =>
      tokenizer.decode(
        ids.filter((id) => id < tokenizer.vocabSize),
        { skipSpecialTokens }
      ),
    renderIds: (messages, enableThinking) =>
      tokenizer.encode(tokenizer.renderChat(messages, { addGenerationPrompt: true, enableThinking })),
  };
}

async function generationEosIds(modelDir: string): Promise<number[]> {
  const path = join(modelDir, 'generation_config.json');
  if (!existsSync(path)) return [];
  const { eos_token_id: ids } = JSON.parse(await readFile(path, 'utf8')) as { eos_token_id?: number | number[] };
  return [ids ?? []].flat();
}
