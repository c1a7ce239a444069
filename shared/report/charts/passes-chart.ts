import * as Plot from '@observablehq/plot';
import type { ScreeningManifest } from '../../evaluation/screen-splits.js';
import { count } from '../format.js';
import { html, type Html } from '../html.js';
import { figure, responsivePlot } from './figure.js';

interface Bar {
  passes: number;
  prompts: number;
  usable: boolean;
}

/** How many prompts were solved how often; the ones that may be trained on stand out. */
export function passesChart({ prompts_by_successes: prompts, passes }: ScreeningManifest): Html {
  const bars = prompts.map((number, at): Bar => ({
    passes: at,
    prompts: number,
    usable: at >= passes.min && at <= passes.max,
  }));
  const make = (width: number): Plot.PlotOptions => ({
    width,
    height: width < 600 ? 220 : 240,
    marginLeft: 44,
    marginRight: 16,
    marginTop: 24,
    marginBottom: 42,
    x: { type: 'band', padding: 0.2, tickSize: 0, label: 'right tries of a prompt', labelArrow: 'none' },
    y: { grid: true, ticks: 4, tickSize: 0, tickPadding: 8, label: 'prompts', labelArrow: 'none' },
    marks: [
      Plot.barY(bars, {
        x: 'passes',
        y: 'prompts',
        fill: (bar: Bar) => (bar.usable ? 'var(--arm-0)' : 'var(--base)'),
        fillOpacity: 0.82,
        rx: 2,
      }),
      Plot.text(bars, {
        x: 'passes',
        y: 'prompts',
        dy: -9,
        text: (bar: Bar) => count(bar.prompts),
        fill: 'var(--ink)',
        fontSize: 11,
      }),
      Plot.ruleY([0], { stroke: 'var(--axis)' }),
    ],
  });
  const text = bars.map((bar) => `${bar.prompts} prompts with ${bar.passes}`).join(', ');
  return figure(
    responsivePlot(make, `Bar chart of right tries by prompt: ${text}.`),
    html`Prompts by the number of right answers (boxed EM) of the base model.`,
    [
      html`<span class="key"><i class="swatch arm-0"></i>may be trained on</span>`,
      html`<span class="key"><i class="swatch base"></i>left out</span>`,
    ]
  );
}
