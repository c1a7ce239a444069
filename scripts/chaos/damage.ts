import { existsSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** Folder of an arm's newest complete checkpoint; undefined when it has none. */
export function newestCheckpoint(runDirectory: string, arm: string): string | undefined {
  const folder = join(runDirectory, 'arms', arm, 'checkpoints');
  if (!existsSync(folder)) return undefined;
  const name = readdirSync(folder)
    .filter((entry) => /^iter_\d+$/.test(entry))
    .sort()
    .at(-1);
  return name === undefined ? undefined : join(folder, name);
}

/** Cuts a checkpoint's weights or moments, in place, at a part of its length between 0 and 1. */
export function truncateCheckpoint(folder: string, draw: number): string {
  const path = join(folder, draw < 0.5 ? 'model.safetensors' : 'optimizer.safetensors');
  truncateSync(path, Math.floor(statSync(path).size * draw));
  return path;
}

/** Flips one bit of a checkpoint's weights, in place; `draw` between 0 and 1 says where. */
export async function flipBit(folder: string, draw: number): Promise<string> {
  const path = join(folder, 'model.safetensors');
  const file = await open(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    const position = Math.floor((await file.stat()).size * draw);
    await file.read(byte, 0, 1, position);
    byte[0]! ^= 1 << (position % 8);
    await file.write(byte, 0, 1, position);
  } finally {
    await file.close();
  }
  return path;
}
