import type { NoRowReason } from './convert-row.js';
import type { MalformedReason, RowPlace } from './source-row.js';

export type SkipReason = NoRowReason | MalformedReason | 'not an object' | 'wrong type' | 'not writable as UTF-8';

/** A row that is not in the result, and why. */
export interface SkippedRow extends RowPlace {
  reason: SkipReason;
  detail?: string;
}

/** Rows of a source that are not in the result: none is lost without a reason. */
export interface SkipReport {
  total: number;
  /** Count of each reason that occurred, by name. */
  reasons: Record<string, number>;
  /** The first rows, in file order, at most {@link LISTED_ROWS}. */
  first: SkippedRow[];
}

/** Skipped rows that are listed one by one. */
export const LISTED_ROWS = 20;
const DETAIL_LENGTH = 200;

/** Counts skipped rows by reason. */
export class SkipCounter {
  private total = 0;
  private readonly reasons = new Map<SkipReason, number>();
  private readonly first: SkippedRow[] = [];

  add(place: RowPlace, reason: SkipReason, detail?: string): void {
    this.total += 1;
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
    if (this.first.length >= LISTED_ROWS) return;
    const where: RowPlace = place.line === undefined ? { row: place.row } : { row: place.row, line: place.line };
    this.first.push({ ...where, reason, ...(detail !== undefined && { detail: shorten(detail) }) });
  }

  report(): SkipReport {
    const reasons = [...this.reasons].sort(([a], [b]) => (a < b ? -1 : 1));
    return { total: this.total, reasons: Object.fromEntries(reasons), first: [...this.first] };
  }
}

/** One sentence a skipped row, for error messages. */
export function describeSkipped({ total, reasons, first }: SkipReport): string[] {
  const counts = Object.entries(reasons).map(([reason, count]) => `${count} of ${total} skipped rows: ${reason}`);
  const rows = first.map(({ row, line, reason, detail }) => {
    const where = line === undefined ? `row ${row}` : `row ${row} (line ${line})`;
    return `${where}: ${reason}${detail === undefined ? '' : `: ${detail}`}`;
  });
  return [...counts, ...rows];
}

/** Cut, and free of control characters: details quote what stands in data files. */
function shorten(detail: string): string {
  const visible = detail.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]/g, '\ufffd');
  return visible.length > DETAIL_LENGTH ? `${visible.slice(0, DETAIL_LENGTH).toWellFormed()}…` : visible;
}
