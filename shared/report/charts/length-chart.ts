import * as Plot from '@observablehq/plot';
import { wilsonPercent } from '../format.js';
import { html, type Html } from '../html.js';
import { datasetLabel, datasetLength, findEvaluation, type RunData } from '../run-data.js';
import { figure, modelColour, modelLegend, responsivePlot } from './figure.js';

interface Score {
  model: string;
  length: string;
  score: number;
  low: number;
  high: number;
}

/** sub_EM of every model at every length, with 95 % intervals. Undefined when no length was evaluated. */
export function lengthChart(data: RunData): Html | undefined {
  const lengths = data.datasets.filter((name) => datasetLength(name) !== undefined);
  const scores = lengths.flatMap((dataset) => data.models.flatMap((model) => scoreOf(data, model, dataset) ?? []));
  if (scores.length === 0) return undefined;
  const models = data.models.filter((model) => scores.some((score) => score.model === model));
  const make = (width: number): Plot.PlotOptions => ({
    width,
    height: width < 600 ? 300 : 340,
    marginLeft: 44,
    marginRight: 16,
    marginTop: 24,
    marginBottom: 46,
    fx: {
      domain: lengths.map((name) => datasetLabel(data, name)),
      label: null,
      padding: 0.15,
      axis: 'bottom',
      tickSize: 0,
    },
    x: { domain: models, axis: null, padding: 0.22 },
    y: { domain: [0, 100], grid: true, ticks: 5, tickSize: 0, tickPadding: 8, label: 'sub_EM, %', labelArrow: 'none' },
    marks: [
      Plot.barY(scores, {
        fx: 'length',
        x: 'model',
        y: 'score',
        fill: (score: Score) => modelColour(data.models, score.model),
        fillOpacity: 0.82,
        rx: 2,
      }),
      Plot.ruleX(scores, { fx: 'length', x: 'model', y1: 'low', y2: 'high', stroke: 'var(--ink)', strokeWidth: 1.5 }),
      Plot.text(scores, {
        fx: 'length',
        x: 'model',
        y: 'high',
        dy: -9,
        text: (score: Score) => score.score.toFixed(width < 600 ? 0 : 1),
        fill: 'var(--ink)',
        fontSize: 11,
      }),
      Plot.ruleY([0], { stroke: 'var(--axis)' }),
    ],
  });
  const text = scores.map(({ model, length, score }) => `${model} at ${length} ${score.toFixed(1)} %`).join(', ');
  return figure(
    responsivePlot(make, `Bar chart of sub_EM: ${text}.`),
    html`Share of items whose normalized prediction and answer contain one another. Lines: 95&nbsp;% Wilson intervals.`,
    modelLegend(data.models, models)
  );
}

function scoreOf(data: RunData, model: string, dataset: string): Score[] | undefined {
  const summary = findEvaluation(data, model, dataset)?.summary;
  const interval = summary === undefined ? undefined : wilsonPercent(summary.sub_em_pct / 100, summary.total);
  if (summary === undefined || interval === undefined) return undefined;
  return [{ model, length: datasetLabel(data, dataset), score: summary.sub_em_pct, ...interval }];
}
