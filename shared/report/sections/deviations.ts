import { count, plural } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import { datasetLabel, type RunData } from '../run-data.js';
import { section } from './parts.js';
import { fullRun } from './ledger.js';

/** What did not go as a calm, complete, fresh run would have gone. */
export function deviationsSection(data: RunData): Html {
  const found = [
    ...ablations(data),
    ...rolloutServers(data),
    ...attempts(data),
    ...fallbacks(data),
    ...warnings(data),
    ...stages(data),
    ...reuse(data),
    ...trimming(data),
    ...evaluations(data),
  ];
  const missing = data.problems;
  return section(
    'deviations',
    'Deviations and gaps',
    '',
    html`${
      found.length === 0
        ? html`<p>None recorded: nothing was repeated, reused, cut or left out.</p>`
        : html`<ul class="plain">
            ${found.map((text) => html`<li>${text}</li>`)}
          </ul>`
    }
    ${
      missing.length > 0 &&
      html`<h3>Missing from the run’s folder</h3>
        <ul class="plain">
          ${missing.map((text) => html`<li>${text}</li>`)}
        </ul>`
    }`
  );
}

function ablations({ recipe }: RunData): Value[] {
  const { shuffledAdvantages = false, emptyMemory = false } = recipe?.ablation ?? {};
  return [
    shuffledAdvantages &&
      html`Ablation <b>shuffledAdvantages</b>: the advantages of every group were permuted, so that training could not
        tell good trajectories from bad ones.`,
    emptyMemory &&
      html`Ablation <b>emptyMemory</b>: every chunk was read with an empty memory, in training and evaluation, the base
        included.`,
  ].filter((text) => text !== false);
}

/** A server of another engine draws as it likes, so that determinism is not claimed. */
function rolloutServers({ recipe }: RunData): Value[] {
  const engine = recipe?.rolloutServing?.engine;
  if (engine === undefined) return [];
  return [
    html`Rollouts were sampled by ${engine}, which takes no seed for a request: another run of this recipe samples other
    tokens. The weights of every reply were checked by version and by log-probs.`,
  ];
}

function attempts(data: RunData): Value[] {
  const failed = data.progress?.failedAttempts ?? 0;
  return failed === 0
    ? []
    : [html`${plural(failed, 'attempt')} failed; causes are in the <a href="#timeline">timeline</a>.`];
}

function fallbacks(data: RunData): Value[] {
  return (data.progress?.fallbacks ?? []).map(({ stage, settings }) => {
    const smaller = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
    return html`Stage ${stage} ran out of memory and went on with smaller settings than the recipe’s:
      <b>${smaller.join(', ')}</b> (oomFallback).`;
  });
}

function warnings(data: RunData): Value[] {
  return (data.progress?.warnings ?? []).map((text) => html`${text.slice(0, 600)}`);
}

function stages(data: RunData): Value[] {
  return (data.progress?.stages ?? [])
    .filter(({ state }) => state === 'failed' || state === 'halted' || state === 'cancelled')
    .map(({ name, state, note }) => html`Stage ${name} is ${state}${note !== undefined && html`: ${note}`}.`);
}

function reuse(data: RunData): Value[] {
  const origins = new Map<string, number>();
  for (const { reusedFrom } of data.artifacts) {
    if (reusedFrom !== undefined) origins.set(reusedFrom, (origins.get(reusedFrom) ?? 0) + 1);
  }
  return [...origins].map(
    ([run, files]) =>
      html`${plural(files, 'artifact')} made by the earlier run <b>${run}</b> from the same inputs and code; taken over
        after their hashes were checked.`
  );
}

function trimming(data: RunData): Value[] {
  return data.arms.flatMap((arm) => {
    const trimmed = fullRun(arm)?.trimmed ?? 0;
    return trimmed > 0
      ? [html`Arm ${arm.name} trimmed ${plural(trimmed, 'row')} to its global batch, as its reference does.`]
      : [];
  });
}

function evaluations(data: RunData): Value[] {
  return data.evaluations.flatMap(({ model, dataset, summary }) => {
    if (summary === undefined || summary.errors === 0) return [];
    const label = datasetLabel(data, dataset);
    return [
      html`${model} on ${label}: ${count(summary.errors)} of ${plural(summary.total, 'item')} ended with a request
      error.`,
    ];
  });
}
