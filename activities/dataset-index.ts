import { stat } from 'node:fs/promises';
import { LineIndex } from '../shared/data/line-index.js';
import { setBounded } from '../shared/runtime/bounded-map.js';

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
  setBounded(indexes, path, { stamp, index }, KEPT);
  index.catch(() => indexes.delete(path));
  return index;
}
