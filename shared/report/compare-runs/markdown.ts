import { count, duration, fixed, percent, signed, wilsonPercent } from '../format.js';
import { printable } from '../html.js';
import { WINDOW } from '../charts/reward-chart.js';
import { datasetLabel, findEvaluation, type RunData } from '../run-data.js';
import { rowRewardNote } from '../../scoring/reward-source.js';
import { differingFields, mergeRuns, runLabels } from './merge-runs.js';
import { costOf } from './run-cost.js';

/** The comparison of runs as Markdown, to be pasted into an issue. */
export function runComparisonMarkdown(runs: readonly RunData[]): string {
  const labels = runLabels(runs);
  const merged = mergeRuns(runs, labels);
  return `${[
    `## ${text(labels.join(' · '))}`,
    verdicts(runs, labels),
    '### Differences of the recipes',
    recipes(runs, labels),
    '### Reward',
    rewards(merged),
    '### Evaluation (sub-EM, 95 % Wilson intervals)',
    evaluations(merged),
    '### Time and cost',
    costs(runs, labels),
  ].join('\n\n')}\n`;
}

function verdicts(runs: readonly RunData[], labels: readonly string[]): string {
  return runs
    .map(({ verdict }, at) => `- **${text(labels[at] ?? '')}**: ${text(verdict?.sentence ?? 'no verdict')}`)
    .join('\n');
}

function recipes(runs: readonly RunData[], labels: readonly string[]): string {
  const fields = differingFields(runs);
  if (fields.length === 0) return 'The recipes mean the same.';
  return table(
    ['field', ...labels],
    fields.map(({ path, values }) => [code(path), ...values.map(code)])
  );
}

function rewards({ arms }: RunData): string {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const rows = arms
    .filter((arm) => arm.rewards.length > 0)
    .map((arm) => {
      const values = arm.rewards.map(({ reward }) => reward);
      const [first, last] = [mean(values.slice(0, WINDOW)), mean(values.slice(-WINDOW))];
      return [text(arm.name), count(values.length), fixed(first, 3), fixed(last, 3), signed(last - first, 3)];
    });
  const note = rowRewardNote(arms);
  const means = table(['arm', 'steps', `first ${WINDOW}`, `last ${WINDOW}`, 'change'], rows);
  return note === undefined ? means : `${means}\n\n${text(note)}`;
}

function evaluations(merged: RunData): string {
  const rows = merged.datasets.map((dataset) => [
    text(datasetLabel(merged, dataset)),
    ...merged.models.map((model) => {
      const summary = findEvaluation(merged, model, dataset)?.summary;
      const interval = summary === undefined ? undefined : wilsonPercent(summary.sub_em_pct / 100, summary.total);
      if (summary === undefined || interval === undefined) return '–';
      return `${percent(summary.sub_em_pct)} (${fixed(interval.low, 1)} – ${fixed(interval.high, 1)})`;
    }),
  ]);
  return table(['data set', ...merged.models], rows);
}

function costs(runs: readonly RunData[], labels: readonly string[]): string {
  const rows = runs.map((run, at) => {
    const { wallSeconds, stageSeconds, cpuSeconds, wastedShare, trainedTokens, failedAttempts, lostSeconds } =
      costOf(run);
    const times = [wallSeconds, stageSeconds, cpuSeconds].map(duration);
    const wasted = percent(wastedShare === undefined ? undefined : 100 * wastedShare);
    return [
      text(labels[at] ?? ''),
      ...times,
      wasted,
      count(trainedTokens),
      count(failedAttempts),
      duration(lostSeconds),
    ];
  });
  return table(
    ['run', 'wall time', 'stage time', 'CPU time', 'wasted', 'trained tokens', 'failed attempts', 'time lost'],
    rows
  );
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header.map(text)), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Text that cannot become Markdown or HTML of its own: names and values may come from anywhere. */
function text(value: string): string {
  return printable(value)
    .replaceAll('\n', ' ')
    .replace(/[\\`*_{}[\]<>#|~]/g, (character) => `\\${character}`);
}

function code(value: string): string {
  return `\`${printable(value).replaceAll('\n', ' ').replaceAll('`', 'ˋ').replaceAll('|', '\\|')}\``;
}
