import * as Plot from '@observablehq/plot';
import { renderPlot, stepTicks } from '../../shared/report/charts/figure.js';
import { WINDOW } from '../../shared/report/charts/reward-chart.js';
import { movingMean } from '../../shared/report/number-table.js';
import type { RunResult } from './results.js';

/** Colours of the report's light page; a picture of its own has no style sheet to take them from. */
const PALETTE = ['#2f66d0', '#d0741a', '#2a8c7f', '#8c55c4', '#c2477a', '#7d7a1c'];
const GREY = '#8b929c';
const INK = '#1c2027';

interface Point {
  panel: string;
  run: string;
  step: number;
  reward: number;
}

const X = { label: 'step', tickSize: 0, labelArrow: 'none' } as const;
const Y = { label: `reward, mean of ${WINDOW} steps`, domain: [0, 1], grid: true, ticks: 5, tickSize: 0 } as const;

/** Curves of all seeds, a panel an arm, above the frozen base's reward. */
export function seedCurves(seeds: readonly RunResult[], base: number): string {
  const points = seeds.flatMap(({ run, arms }) =>
    arms.flatMap(({ arm, rewards }) => curve(arm, String(run.seed), rewards))
  );
  const runs = seeds.map(({ run }) => String(run.seed));
  const panels = [...new Set(points.map(({ panel }) => panel))];
  const options: Plot.PlotOptions = {
    width: 900,
    height: 340,
    marginTop: 34,
    marginLeft: 44,
    marginBottom: 40,
    fx: { domain: panels, label: null, padding: 0.06 },
    x: { ...X, ticks: ticksOf(points, 5) },
    y: { ...Y, labelArrow: 'none' },
    color: { domain: runs, range: PALETTE },
    marks: [
      Plot.ruleY([base], { stroke: GREY, strokeDasharray: '4,3', strokeWidth: 1.5 }),
      Plot.line(points, { fx: 'panel', x: 'step', y: 'reward', stroke: 'run', strokeWidth: 1.6 }),
      Plot.text([`frozen base ${base.toFixed(2)}`], {
        frameAnchor: 'bottom-right',
        y: base,
        dy: 12,
        lineAnchor: 'top',
        fill: '#5d6570',
      }),
    ],
  };
  const lasts = seeds.flatMap(({ arms }) => arms.map(({ last }) => last.toFixed(2)));
  return standalone(options, `Reward over the steps for seeds ${runs.join(', ')}; last ten steps: ${lasts.join(', ')}`);
}

/** Curve of every ablation in a panel of its own, beside the grey one of the recipe as it is. */
export function ablationCurves(ablations: readonly RunResult[], plain: readonly number[], base: number): string {
  const names = ablations.map(({ run }) => run.change);
  const own = ablations.flatMap(({ run, arms }) => arms.flatMap(({ arm, rewards }) => curve(run.change, arm, rewards)));
  const grey = names.flatMap((panel) => curve(panel, 'recipe', plain));
  const options: Plot.PlotOptions = {
    width: 960,
    height: 250,
    marginTop: 34,
    marginLeft: 54,
    marginBottom: 40,
    fx: { domain: names, label: null, padding: 0.08, tickFormat: wrapped },
    x: { ...X, ticks: ticksOf(own, 2) },
    // Upright: the panels’ titles take two lines at the top.
    y: { ...Y, labelAnchor: 'center', labelArrow: 'none' },
    marks: [
      Plot.ruleY([base], { stroke: GREY, strokeDasharray: '4,3' }),
      Plot.line(grey, { fx: 'panel', x: 'step', y: 'reward', stroke: GREY, strokeWidth: 1.2 }),
      Plot.line(own, { fx: 'panel', x: 'step', y: 'reward', stroke: PALETTE[0] ?? INK, strokeWidth: 1.8 }),
    ],
  };
  const lasts = ablations.map(({ run, arms }) => `${run.change} ${arms[0]?.last.toFixed(2) ?? '–'}`);
  return standalone(options, `Reward over the steps without parts of the method; last ten steps: ${lasts.join(', ')}`);
}

/** Base and trained models at every length, sampled and greedy: one line a seed and arm. */
export function evaluationLines(sampled: readonly RunResult[], greedy: readonly RunResult[]): string {
  const lines = [
    ...sampled.flatMap((result) => comparisonLines('sampled as the recipe says', result)),
    ...greedy.flatMap((result) => comparisonLines('greedy', result)),
  ];
  const lengths = [...new Set(lines.map(({ length }) => length))].sort((a, b) => a - b);
  const panels = [...new Set(lines.map(({ panel }) => panel))];
  const options: Plot.PlotOptions = {
    width: 900,
    height: 300,
    marginTop: 34,
    marginLeft: 44,
    marginBottom: 40,
    fx: { domain: panels, label: null, padding: 0.06 },
    x: { type: 'point', domain: lengths, label: 'chunks', tickSize: 0, labelArrow: 'none' },
    y: { ...Y, label: 'right answers (sub-EM)', labelArrow: 'none' },
    color: { domain: ['base', 'relax', 'vime'], range: [GREY, ...PALETTE], legend: false },
    marks: [
      Plot.line(lines, { fx: 'panel', x: 'length', y: 'score', z: 'run', stroke: 'model', strokeWidth: 1.4 }),
      Plot.dot(lines, { fx: 'panel', x: 'length', y: 'score', fill: 'model', r: 2.5 }),
    ],
  };
  return standalone(options, 'Right answers of the base and of every trained model at each context length');
}

function comparisonLines(panel: string, { run, arms }: RunResult) {
  return arms.flatMap(({ arm, comparisons }) =>
    comparisons.flatMap(({ length, base, trained }) => [
      { panel, run: `${run.seed}-${arm}-base`, model: 'base', length, score: base },
      { panel, run: `${run.seed}-${arm}`, model: arm, length, score: trained },
    ])
  );
}

function curve(panel: string, run: string, rewards: readonly number[]): Point[] {
  return movingMean(rewards, WINDOW).map((reward, step) => ({ panel, run, step, reward }));
}

function ticksOf(points: readonly Point[], wanted: number): number[] {
  return stepTicks(Math.max(1, ...points.map(({ step }) => step)), wanted);
}

/** Panel titles in two lines where they are long. */
function wrapped(title: string): string {
  const middle = title.indexOf(' ', Math.floor(title.length / 2) - 3);
  return title.length > 18 && middle > 0 ? `${title.slice(0, middle)}\n${title.slice(middle + 1)}` : title;
}

/** A plot as a file of its own: name space, font and a white page, which a page's style sheet would give. */
function standalone(options: Plot.PlotOptions, label: string): string {
  const open = '<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" ';
  const text = renderPlot(options, label).text.replace(/^<svg /, open);
  return `${text.replace(/^<svg [^>]*>/, (tag) => `${tag}<rect width="100%" height="100%" fill="#ffffff"></rect>`)}\n`;
}
