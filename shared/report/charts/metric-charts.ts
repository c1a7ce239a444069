import * as Plot from '@observablehq/plot';
import { significant } from '../format.js';
import { html, type Html } from '../html.js';
import type { RunData } from '../run-data.js';
import { modelClass, modelColour, renderPlot, stepTicks } from './figure.js';

/** Columns of metrics.csv that are drawn, with what they mean. */
const METRICS: readonly { column: string; title: string; note: string; floor?: number }[] = [
  { column: 'kl', title: 'KL to the base', note: 'low-variance estimator, nats a token', floor: 0 },
  { column: 'loss', title: 'Loss', note: 'policy loss + KL term' },
  { column: 'grad_norm', title: 'Gradient norm', note: 'global L2, before clipping', floor: 0 },
  { column: 'entropy', title: 'Entropy', note: 'nats a token', floor: 0 },
  { column: 'clip_fraction', title: 'Clipped ratios', note: 'share of response tokens', floor: 0 },
  { column: 'mean_response_tokens', title: 'Response length', note: 'tokens a turn', floor: 0 },
  { column: 'mean_memory_tokens', title: 'Memory length', note: 'tokens after a memory turn', floor: 0 },
  {
    column: 'max_logprob_difference',
    title: 'Sampler and trainer',
    note: 'largest log-prob difference, nats',
    floor: 0,
  },
  { column: 'truncated_share', title: 'Truncated turns', note: 'share that hit the token limit', floor: 0 },
];

/** Small multiples of the training metrics, all arms in each; metrics that no arm recorded are left out. */
export function metricCharts(data: RunData): Html {
  const cards = METRICS.map((metric) => metricCard(data, metric)).filter((card) => card !== undefined);
  return html`<div class="multiples">${cards}</div>`;
}

function metricCard(data: RunData, metric: (typeof METRICS)[number]): Html | undefined {
  const series = data.arms
    .map((arm) => ({ arm: arm.name, points: pointsOf(arm, metric.column) }))
    .filter(({ points }) => points.length > 0);
  if (series.length === 0) return undefined;
  const finals = series.map(({ arm, points }) => ({ arm, value: points.at(-1)?.value ?? NaN }));
  const label = `${metric.title}, last values: ${finals.map(({ arm, value }) => `${arm} ${significant(value)}`).join(', ')}`;
  const values = series.flatMap(({ points }) => points.map(({ value }) => value));
  const lastStep = Math.max(1, ...series.flatMap(({ points }) => points.map(({ step }) => step)));
  const plot = renderPlot(
    {
      width: 320,
      height: 150,
      marginLeft: 46,
      marginRight: 8,
      marginTop: 10,
      marginBottom: 24,
      x: { label: null, ticks: stepTicks(lastStep, 5), tickFormat: ',d', tickSize: 0 },
      y: {
        label: null,
        ticks: 3,
        tickSize: 0,
        tickPadding: 6,
        grid: true,
        domain: domainOf(values, metric.floor),
        tickFormat: tickText,
      },
      marks: series.map(({ arm, points }) =>
        Plot.line(points, { x: 'step', y: 'value', stroke: modelColour(data.models, arm), strokeWidth: 1.5 })
      ),
    },
    label
  );
  return html`<figure class="multiple">
    <figcaption><strong>${metric.title}</strong> <span class="muted">${metric.note}</span></figcaption>
    ${plot}
    <p class="finals">
      ${finals.map(
        ({ arm, value }) =>
          html`<span class="key"
            ><i class="swatch ${modelClass(data.models, arm)}"></i>${arm} <b>${significant(value)}</b></span
          >`
      )}
    </p>
  </figure>`;
}

function pointsOf(arm: RunData['arms'][number], column: string): { step: number; value: number }[] {
  const steps = arm.metrics.get('step') ?? [];
  return (arm.metrics.get(column) ?? [])
    .map((value, row) => ({ step: steps[row] ?? row, value }))
    .filter(({ value }) => Number.isFinite(value));
}

function domainOf(values: readonly number[], floor: number | undefined): [number, number] {
  const low = Math.min(...values, floor ?? Infinity);
  const high = Math.max(...values);
  return low === high
    ? [low - 0.5 * (floor === undefined ? 1 : 0), high + (high === 0 ? 1 : Math.abs(high) / 2)]
    : [low, high];
}

function tickText(value: unknown): string {
  const number = Number(value);
  return Math.abs(number) >= 10_000 || (number !== 0 && Math.abs(number) < 0.001)
    ? number.toExponential(0)
    : String(Number(number.toPrecision(3)));
}
