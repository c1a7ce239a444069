import type { PairRow, BaselineRow, Verdict } from '../../shared/scoring/verdict.js';
import { cleanLine, cleanText } from '../terminal/clean-text.js';

/** A verdict as a person reads it in a terminal: each comparison in a line, what to know beside it, the sentence last. */
export function verdictTable(verdict: Verdict): string {
  const rows = [...verdict.pairs.map(pairCells), ...verdict.baselines.map(baselineCells)];
  const reasons = verdict.reasons.map((reason) => `  - ${cleanLine(reason, 500)}`);
  return [
    ...(rows.length === 0 ? [] : [aligned([HEADER, ...rows]), '']),
    ...(reasons.length === 0 ? [] : ['not comparable:', ...reasons, '']),
    ...verdict.notes.map((note) => `note: ${cleanLine(note, 500)}`),
    `verdict: ${verdict.outcome}. ${cleanText(verdict.sentence, 1_500)}`,
  ].join('\n');
}

const HEADER = ['', 'data set', 'score', 'first', 'second', 'points', '95 % interval', 'McNemar p', 'TOST p'];

function pairCells(row: PairRow): string[] {
  const gap = row.second_pct - row.first_pct;
  return [
    mark(row.passed),
    cleanLine(row.dataset, 40),
    row.metric,
    `${cleanLine(row.first, 24)} ${percent(row.first_pct)}`,
    `${cleanLine(row.second, 24)} ${percent(row.second_pct)}`,
    signed(gap),
    ...statisticsCells(row),
  ];
}

function baselineCells(row: BaselineRow): string[] {
  return [
    row.required || row.passed ? mark(row.passed) : '·',
    cleanLine(row.dataset, 40),
    row.metric,
    `base ${percent(row.base_pct)}`,
    `${cleanLine(row.arm, 24)} ${percent(row.trained_pct)}`,
    signed(row.improvement_points),
    ...statisticsCells(row),
  ];
}

function statisticsCells({ statistics }: Pick<PairRow, 'statistics'>): string[] {
  if (statistics === null) return ['–', '–', '–'];
  const { bootstrap_low_points: low, bootstrap_high_points: high, mcnemar_p: p, equivalence_p: tost } = statistics;
  return [`${signed(low)} … ${signed(high)}`, probability(p), probability(tost)];
}

const mark = (passed: boolean): string => (passed ? '✔' : '✖');
const percent = (value: number): string => `${value.toFixed(2)} %`;
const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
const probability = (p: number | null): string => (p === null ? '–' : p < 0.001 ? '< 0.001' : p.toFixed(3));

function aligned(rows: readonly string[][]): string {
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()
    )
    .join('\n');
}
