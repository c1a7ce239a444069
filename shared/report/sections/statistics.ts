import type { PairedStatistics } from '../../scoring/statistics.js';
import { fixed, signed } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import { datasetLabel, type RunData } from '../run-data.js';
import { table } from './parts.js';
import { metricName } from './verdict.js';

/** Paired statistics of every comparison, labelled as additional: the rule does not use them. */
export function statisticsBlock(data: RunData): Html | undefined {
  const { verdict } = data;
  if (verdict === undefined || verdict.pairs.length + verdict.baselines.length === 0) return undefined;
  const rows = [
    ...verdict.pairs.map((row) =>
      statisticsRow(datasetLabel(data, row.dataset), `${row.second} − ${row.first}`, row.metric, row.statistics)
    ),
    ...verdict.baselines.map((row) =>
      statisticsRow(datasetLabel(data, row.dataset), `${row.arm} − base`, row.metric, row.statistics)
    ),
  ];
  return html`<h3>Statistics beside the rule</h3>
    <p class="lead">
      Additional, not part of the verdict: paired on the same items. The last column is the true difference that this
      many items would show four times out of five.
    </p>
    ${table(
      'Paired statistics of every comparison',
      [
        { label: 'Comparison' },
        { label: 'Difference', note: 'points', number: true },
        { label: '95 % interval', note: 'bootstrap', number: true },
        { label: 'Only first', note: 'items', number: true },
        { label: 'Only second', note: 'items', number: true },
        { label: 'McNemar', note: 'exact p', number: true },
        { label: 'Equivalence', note: 'TOST p', number: true },
        { label: 'Shows from', note: 'points', number: true },
      ],
      rows
    )}`;
}

function statisticsRow(label: string, pair: string, metric: string, statistics: PairedStatistics | null): Value[] {
  const name = html`${pair} <span class="muted">${label}, ${metricName(metric)}</span>`;
  if (statistics === null) return [name, ...Array.from({ length: 7 }, () => '–')];
  const { bootstrap_low_points: low, bootstrap_high_points: high } = statistics;
  return [
    name,
    signed(statistics.difference_points, 1),
    `${signed(low, 1)} … ${signed(high, 1)}`,
    statistics.only_first === null ? '–' : String(statistics.only_first),
    statistics.only_second === null ? '–' : String(statistics.only_second),
    probability(statistics.mcnemar_p),
    probability(statistics.equivalence_p),
    // Without a single disagreement there is nothing to judge it by.
    statistics.smallest_likely_points === 0 ? '–' : fixed(statistics.smallest_likely_points, 1),
  ];
}

function probability(p: number | null): string {
  if (p === null) return '–';
  return p < 0.001 ? '< 0.001' : fixed(p, 3);
}
