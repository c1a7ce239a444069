import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Files that are different in different models. */
const TELLING = ['config.json', 'model.safetensors', 'model.safetensors.index.json'];

/**
 * Tells models at one path apart by size and time of their files: hashing them at every call would cost too much.
 *
 * @returns one entry a file: `[bytes, milliseconds since 1970]`, null for one that is not there
 */
export async function modelStamp(folder: string): Promise<([number, number] | null)[]> {
  const files = TELLING.map(async (name): Promise<[number, number] | null> => {
    const info = await stat(join(folder, name)).catch(() => undefined);
    return info === undefined ? null : [info.size, info.mtimeMs];
  });
  return await Promise.all(files);
}
