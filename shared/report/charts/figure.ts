import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { Html, html, type Value } from '../html.js';

/** Colour of a model's marks: `base` is grey, arms take the palette's colours in the recipe's order. */
export function modelColour(models: readonly string[], model: string): string {
  if (model === 'base') return 'var(--base)';
  const arm = models.filter((name) => name !== 'base').indexOf(model);
  return `var(--arm-${Math.max(0, arm) % 6})`;
}

/** Class of a model's colour, for text and marks outside of charts. */
export function modelClass(models: readonly string[], model: string): string {
  return modelColour(models, model).slice('var(--'.length, -1);
}

/**
 * Renders a plot as static SVG. Plot's own style element and label attributes are taken out: the page's style sheet has the
 * rules (inline styles are forbidden by its policy), and the figure has one label for all of it.
 */
export function renderPlot(options: Plot.PlotOptions, label: string): Html {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const plot = Plot.plot({ ...options, document, className: 'plot', style: undefined } as Plot.PlotOptions);
  const text = (plot.outerHTML as string)
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/ aria-(?:label|hidden|description)="[^"]*"/g, '')
    .replace(/<[^>]+>/g, (tag) => tag.replace(/(\d\.\d{2})\d+/g, '$1'));
  const open = html`<svg role="img" aria-label="${label}" `;
  return new Html(text.replace(/^<svg /, open.text).replace(/ font-family="[^"]*"/, ''));
}

/** The same plot for wide pages and for telephones; the style sheet shows one of them. */
export function responsivePlot(make: (width: number) => Plot.PlotOptions, label: string, wide = 1040): Html {
  return html`<div class="wide-only">${renderPlot(make(wide), label)}</div>
    <div class="narrow-only">${renderPlot(make(420), label)}</div>`;
}

/** A figure with a caption; the legend names every colour. */
export function figure(content: Html, caption: Value, legend?: Value): Html {
  return html`<figure>
    ${legend === undefined ? '' : html`<div class="legend">${legend}</div>`}
    <div class="canvas">${content}</div>
    <figcaption>${caption}</figcaption>
  </figure>`;
}

/** Legend entries of models. */
export function modelLegend(models: readonly string[], shown: readonly string[]): Value[] {
  return shown.map(
    (model) => html`<span class="key"><i class="swatch ${modelClass(models, model)}"></i>${model}</span>`
  );
}

/** About `wanted` round tick values from 0 to the last step: steps are whole numbers, so are their ticks. */
export function stepTicks(last: number, wanted: number): number[] {
  const rough = Math.max(1, last / wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
  return Array.from({ length: Math.floor(last / size) + 1 }, (_, index) => index * size);
}
