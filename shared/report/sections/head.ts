import { dateTime, duration, fixed, plural, secondsBetween } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { RunData } from '../run-data.js';
import { WINDOW } from '../charts/reward-chart.js';

/** Name, time and identity of the run. */
export function masthead(data: RunData): Html {
  const { progress, recipe } = data;
  const name = progress?.pipelineId ?? data.name;
  const started = progress === undefined ? '' : ` · started ${dateTime(progress.startedAt)}`;
  return html`<header class="masthead">
    <p class="brand">memagent-pipeline · run report</p>
    <h1>${name}</h1>
    <p class="when">Recipe ${recipe?.name ?? 'unknown'}${started}</p>
  </header>`;
}

/** Four numbers that people ask for first. Numbers that a run does not have are left out. */
export function keyFigures(data: RunData): Html | undefined {
  const figures = [gap(data), gain(data), reward(data), time(data)].filter((each) => each !== undefined);
  if (figures.length === 0) return undefined;
  return html`<dl class="figures">
    ${figures.map(
      ([label, value, note]) =>
        html`<div>
          <dt>${label}</dt>
          <dd>${value}<small>${note}</small></dd>
        </div>`
    )}
  </dl>`;
}

type Figure = [label: Value, value: Value, note: Value];

function gap(data: RunData): Figure | undefined {
  const pairs = data.verdict?.pairs ?? [];
  const [first, ...rest] = pairs;
  if (first === undefined) return undefined;
  const worst = rest.reduce((most, row) => (row.gap_points > most.gap_points ? row : most), first);
  return [
    'Largest difference of the arms',
    `${fixed(worst.gap_points, 1)} points`,
    `at length ${worst.length}; ${fixed(worst.tolerance_points, 0)} allowed`,
  ];
}

function gain(data: RunData): Figure | undefined {
  const rows = (data.verdict?.baselines ?? []).filter(({ required }) => required);
  const [first, ...rest] = rows;
  if (first === undefined) return undefined;
  const least = rest.reduce((low, row) => (row.improvement_points < low.improvement_points ? row : low), first);
  const where = least.length === null ? 'on the development set' : `at length ${least.length}`;
  return [`Smallest gain of ${least.arm} over the base`, `${fixed(least.improvement_points, 1)} points`, where];
}

function reward(data: RunData): Figure | undefined {
  const arms = data.arms.filter(({ rewards }) => rewards.length > 0);
  if (arms.length === 0) return undefined;
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const lines = arms.map(({ name, rewards }) => {
    const values = rewards.map((point) => point.reward);
    return { name, first: mean(values.slice(0, WINDOW)), last: mean(values.slice(-WINDOW)) };
  });
  const text = lines.map(({ last }) => fixed(last, 2)).join(' / ');
  const window = Math.min(WINDOW, ...arms.map(({ rewards }) => rewards.length));
  const note = `${lines.map(({ name }) => name).join(' / ')}, last ${window} steps; first ${window}: ${lines
    .map(({ first }) => fixed(first, 2))
    .join(' / ')}`;
  return ['Reward reached', text, note];
}

function time(data: RunData): Figure | undefined {
  const { progress } = data;
  if (progress === undefined) return undefined;
  const total = secondsBetween(progress.startedAt, progress.finishedAt ?? progress.updatedAt);
  const repeats = progress.failedAttempts;
  return ['Wall time', duration(total), repeats === 0 ? 'no attempt failed' : `${plural(repeats, 'failed attempt')}`];
}
