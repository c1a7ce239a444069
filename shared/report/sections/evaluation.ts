import { lengthChart } from '../charts/length-chart.js';
import { count, percent, wilsonPercent } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import { datasetLabel, findEvaluation, type RunData } from '../run-data.js';
import { absent, groupedTable, mark, section, type Column } from './parts.js';
import { truncationNotices } from './truncation.js';
import { statisticsBlock } from './statistics.js';
import { armName } from './training.js';

/** Scores of every model on every data set, with what must be said beside them. */
export function evaluationSection(data: RunData): Html {
  const groups = data.datasets
    .map((dataset) => ({
      heading: datasetLabel(data, dataset),
      rows: data.models.flatMap((model) => evaluationRow(data, model, dataset)),
    }))
    .filter(({ rows }) => rows.length > 0);
  if (groups.length === 0) {
    return section('evaluation', 'Evaluation', '', absent('Nothing was evaluated: the run ended before.'));
  }
  const lead =
    'Every model went through the same recurrent loop. Scores are over all items; a failed request counts as zero.';
  return section('evaluation', 'Evaluation', lead, [
    lengthChart(data),
    truncationNotices(data),
    groupedTable('Scores by data set and model', SCORE_COLUMNS, groups),
    missingWords(data),
    statisticsBlock(data),
  ]);
}

const SCORE_COLUMNS: readonly Column[] = [
  { label: 'Data set' },
  { label: 'Model' },
  { label: 'sub_EM', number: true },
  { label: '95 % interval', number: true },
  { label: 'Boxed EM', number: true },
  { label: 'F1', number: true },
  { label: 'EM', number: true },
  { label: 'Items', number: true },
  { label: 'Errors', number: true },
];

function missingWords(data: RunData): Html | undefined {
  const missing = data.datasets.flatMap((dataset) =>
    data.models
      .filter((model) => findEvaluation(data, model, dataset)?.summary === undefined)
      .map((model) => `${model} on ${datasetLabel(data, dataset)}`)
  );
  return missing.length === 0 ? undefined : absent(html`Not evaluated: ${missing.join('; ')}.`);
}

function evaluationRow(data: RunData, model: string, dataset: string): Value[][] {
  const summary = findEvaluation(data, model, dataset)?.summary;
  if (summary === undefined) return [];
  const interval = wilsonPercent(summary.sub_em_pct / 100, summary.total);
  return [
    [
      armName(data, model),
      html`<b>${percent(summary.sub_em_pct)}</b>`,
      interval === undefined ? '–' : html`${interval.low.toFixed(1)} – ${interval.high.toFixed(1)}`,
      percent(summary.boxed_em_pct),
      percent(summary.f1_pct),
      percent(summary.em_pct),
      count(summary.total),
      summary.errors === 0 ? '0' : mark('bad', count(summary.errors)),
    ],
  ];
}
