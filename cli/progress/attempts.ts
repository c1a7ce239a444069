import type { AttemptRecord, Progress } from '../../shared/contracts/progress.js';
import { cleanLine } from '../terminal/clean-text.js';
import { duration, plural, secondsBetween } from '../terminal/units.js';

/** Attempts shown at most: the latest. */
const SHOWN_ATTEMPTS = 8;

const HEADINGS = ['ago', 'stage', 'step', 'phase', 'host', 'lost', 'cause'];

/** What failed and how much time that cost: a headline and a table of the latest attempts; empty when nothing failed. */
export function attemptRows(progress: Progress, until: string | undefined, columns: number): string[] {
  if (progress.failedAttempts === 0) return [];
  const lost = progress.stages.reduce((sum, stage) => sum + (stage.secondsLost ?? 0), 0);
  const shown = progress.attempts.slice(-SHOWN_ATTEMPTS);
  const cells = [HEADINGS, ...shown.map((attempt) => attemptCells(attempt, until))];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) =>
    ` ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.slice(0, columns).trimEnd()
  );
  const more = progress.failedAttempts > shown.length ? `, the latest ${shown.length}` : '';
  return [`${plural(progress.failedAttempts, 'failed attempt')}, ${duration(lost)} lost${more}:`, ...lines];
}

function attemptCells(attempt: AttemptRecord, until: string | undefined): string[] {
  return [
    duration(secondsBetween(attempt.at, until)),
    cleanLine(attempt.stage, 24),
    attempt.step === undefined ? '' : String(attempt.step),
    cleanLine(attempt.phase ?? '', 12),
    cleanLine(attempt.host ?? '', 24),
    attempt.secondsLost === undefined ? '' : duration(attempt.secondsLost),
    cleanLine(`${attempt.type}: ${attempt.message}`),
  ];
}
