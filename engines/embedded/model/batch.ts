import type { Offset } from '../kernels/kernels.js';
import type { Model } from './model.js';

/** A run of tokens of one sequence within a pack. */
export interface Segment {
  tokens: readonly number[];
  /** Range of `tokens` in this pack. */
  start: number;
  end: number;
  /** Answers are wanted for the last `queries` tokens: the last layer computes only those. */
  queries: number;
  /** Cache of the sequence in layer 0 (the other layers follow), holding the positions before `start`; none while training. */
  cache?: Offset;
}

/** Segments placed in rows. */
export interface Pack {
  segments: readonly Segment[];
  rows: number;
  /** Rows of the last layer's output: the queries of all segments, in order. */
  selected: number;
}

/** Writes tokens and positions of the segments to the workspace. Positions count within each sequence. */
export function loadPack({ kernels, workspace }: Model, segments: readonly Segment[]): Pack {
  const { ints } = kernels;
  let rows = 0;
  let selected = 0;
  for (const { tokens, start, end, queries } of segments) {
    for (let position = start; position < end; position += 1) {
      ints[workspace.tokens + rows] = tokens[position]!;
      ints[workspace.positions + rows] = position;
      if (position >= end - queries) {
        ints[workspace.selected + selected] = rows;
        ints[workspace.selectedPositions + selected] = position;
        selected += 1;
      }
      rows += 1;
    }
  }
  return { segments, rows, selected };
}
