import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../../shared/runtime/entry.js';

/** Folder of the tiny tokenizer: byte-level BPE of 278 ids with a few merges, NFC and a ChatML template. */
export const TINY = join(packageRoot(), 'test', 'fixtures', 'tokenizers', 'tiny');

/** Ids of the tiny tokenizer's added tokens. */
export const TINY_IDS = { endOfText: 278, imStart: 279, imEnd: 280, think: 281, problem: 284, problemLine: 285 };

type Json = Record<string, unknown>;

/** A copy of the tiny tokenizer in a new folder, its files changed. */
export async function tinyCopy(change: {
  tokenizer?: (json: Json) => Json | string;
  config?: (json: Json) => Json | string;
}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'memagent-tiny-'));
  await cp(TINY, folder, { recursive: true });
  const files: [string, ((json: Json) => Json | string) | undefined][] = [
    ['tokenizer.json', change.tokenizer],
    ['tokenizer_config.json', change.config],
  ];
  for (const [name, edit] of files) {
    if (edit === undefined) continue;
    const result = edit(JSON.parse(await readFile(join(folder, name), 'utf8')) as Json);
    await writeFile(join(folder, name), typeof result === 'string' ? result : JSON.stringify(result));
  }
  return folder;
}
