import { metricCharts } from '../charts/metric-charts.js';
import { modelClass } from '../charts/figure.js';
import { rewardChart, WINDOW } from '../charts/reward-chart.js';
import { count, fixed, signed } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { ArmData, RunData } from '../run-data.js';
import { absent, mark, section, table } from './parts.js';

/** Reward curves, their summary, and the small multiples. */
export function trainingSection(data: RunData): Html {
  const withRewards = data.arms.filter(({ rewards }) => rewards.length > 0);
  if (withRewards.length === 0) {
    return section(
      'training',
      'Training',
      '',
      absent('No reward series was written: no training run came to its end.')
    );
  }
  const lead = html`Reward is 1 for a right final answer and 0 otherwise, averaged over the trajectories of a step.`;
  const gaps = data.arms.filter(({ rewards }) => rewards.length === 0);
  return section('training', 'Training', lead, [
    rewardChart(data),
    table(
      'Reward of each arm',
      [
        { label: 'Arm' },
        { label: 'Steps', number: true },
        { label: `First ${WINDOW}`, note: 'mean', number: true },
        { label: `Last ${WINDOW}`, note: 'mean', number: true },
        { label: 'Change', number: true },
        { label: 'Peak', number: true },
        { label: 'Strictly improved' },
      ],
      withRewards.map((arm) => rewardRow(data, arm))
    ),
    gaps.map(({ name }) => absent(html`Arm ${name} has no complete reward series, so it has no curve.`)),
    html`<h3>Health of the update</h3>`,
    metricCharts(data),
  ]);
}

function rewardRow(data: RunData, arm: ArmData): Value[] {
  const rewards = arm.rewards.map(({ reward }) => reward);
  const first = mean(rewards.slice(0, WINDOW));
  const last = mean(rewards.slice(-WINDOW));
  const peak = arm.rewards.reduce((best, point) => (point.reward > best.reward ? point : best));
  return [
    armName(data, arm.name),
    count(rewards.length),
    fixed(first, 3),
    fixed(last, 3),
    signed(last - first, 3),
    html`${fixed(peak.reward, 3)} <span class="muted">at step ${peak.step}</span>`,
    last > first ? mark('good', 'yes') : mark('bad', 'no'),
  ];
}

/** An arm's name with its colour. */
export function armName(data: RunData, name: string): Html {
  return html`<span class="key"><i class="swatch ${modelClass(data.models, name)}"></i>${name}</span>`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
