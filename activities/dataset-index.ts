import { stat } from 'node:fs/promises';
import { LineIndex } from '../shared/data/line-index.js';

/** Every run has data sets of its own: the oldest index goes first. */
const KEPT = 32;
const indexes = new Map<string, { stamp: string; index: Promise<LineIndex> }>();

/** Line index of a data set, built once per process and file version. */
export async function datasetIndex(path: string): Promise<LineIndex> {
  const { mtimeMs, size } = await stat(path);
  const stamp = `${mtimeMs}:${size}`;
  const known = indexes.get(path);
  if (known?.stamp === stamp) return known.index;
  const index = LineIndex.build(path);
  for (const oldest of [...indexes.keys()].slice(0, Math.max(0, indexes.size - KEPT + 1))) indexes.delete(oldest);
  indexes.set(path, { stamp, index });
  index.catch(() => indexes.delete(path));
  return index;
}
