import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Ids of a model, padding included (`vocab_size` of its config.json): a tokenizer can have fewer.
 *
 * @returns undefined when the folder has no such file or number
 */
export async function modelVocabulary(folder: string): Promise<number | undefined> {
  try {
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as { vocab_size?: unknown };
    return Number.isSafeInteger(config.vocab_size) ? (config.vocab_size as number) : undefined;
  } catch {
    // Not a folder on this machine, or one without the model's configuration.
    return undefined;
  }
}
