import { passesChart } from '../charts/passes-chart.js';
import { count, plural } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { RunData } from '../run-data.js';
import { absent, hash, notice, section, table } from './parts.js';

/** How the training prompts were chosen; nothing when the recipe has no screening. */
export function screeningSection(data: RunData): Html | undefined {
  if (data.recipe?.data.screening === undefined) return undefined;
  const title = 'Choice of the training prompts';
  const { screening } = data;
  if (screening === undefined)
    return section('screening', title, '', absent('The screening did not come to its end: nothing was chosen.'));
  const { tries, passes, sampling, splits } = screening;
  const lead = html`The base model tried ${plural(screening.candidates, 'prompt')} ${tries.samples_per_item} times each
  (temperature ${sampling.temperature}, top-p ${sampling.top_p}, seed ${sampling.seed ?? 'none'}). Usable are prompts
  with ${passes.min} to ${passes.max} right answers: ${count(screening.usable)} of them, ${count(screening.preferred)}
  with a quarter to three quarters, which come first.`;
  const row = (name: string, file: string, { sha256, items }: typeof splits.train): Value[] => [
    name,
    file,
    hash(sha256),
    count(items.length),
  ];
  return section('screening', title, lead, [
    notice(screening.note),
    passesChart(screening),
    table(
      'Splits, which have no prompt in common',
      [{ label: 'Split' }, { label: 'File' }, { label: 'SHA-256' }, { label: 'Prompts', number: true }],
      [
        row('Training', 'screening/train.jsonl', splits.train),
        row('Held out', 'screening/heldout.jsonl', splits.heldOut),
      ]
    ),
  ]);
}
