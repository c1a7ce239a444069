import type { EvaluationSummary } from '../../scoring/evaluation-types.js';
import { html, type Html, type Value } from '../html.js';
import { datasetLabel, findEvaluation, type RunData } from '../run-data.js';
import { absent, factList, hash, mark, section, table } from './parts.js';
import { serverBlock } from './servers.js';

/** Fields of a summary that must agree over all models and data sets, with their names for people. */
const CONTROLLED: readonly { field: keyof EvaluationSummary; label: string }[] = [
  { field: 'mode', label: 'Mode' },
  { field: 'evaluator_schema_version', label: 'Evaluator' },
  { field: 'tokenizer', label: 'Tokenizer' },
  { field: 'temperature', label: 'Temperature' },
  { field: 'top_p', label: 'Top-p' },
  { field: 'sampling_count', label: 'Samples an item' },
  { field: 'seed', label: 'Sampling seed' },
  { field: 'enable_thinking', label: 'Thinking' },
  { field: 'chunk_tokens', label: 'Chunk, tokens' },
  { field: 'max_memory_tokens', label: 'Memory cap, tokens' },
  { field: 'max_final_tokens', label: 'Answer cap, tokens' },
  { field: 'max_chunks', label: 'Chunks at most' },
  { field: 'max_input_tokens', label: 'Longest prompt, tokens' },
  { field: 'server_max_model_len', label: 'Server context, tokens' },
];

/** What was compared, and field by field what makes it comparable. */
export function comparabilitySection(data: RunData): Html {
  const summaries = data.evaluations.flatMap(({ model, summary }) =>
    summary === undefined ? [] : [{ model, summary }]
  );
  const content = [
    settings(data),
    html`<h3>Controlled fields of the evaluation</h3>`,
    summaries.length === 0
      ? absent('No evaluation was finished, so there is nothing to compare.')
      : [controlledFields(summaries), serverBlock(data), dataTable(data)],
  ];
  const arms = data.arms.map(({ name }) => name);
  const lead = html`One training run each of ${joinWords(arms)} from the same frozen base, on the same data, with the
  same seeds and sampling; then one evaluation of the base and of every arm.`;
  return section('comparison', 'What was compared', lead, content);
}

function joinWords(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? 'no arm';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

function settings(data: RunData): Html | undefined {
  const { recipe } = data;
  if (recipe === undefined) return undefined;
  const { grpo, memory } = recipe;
  const facts: [string, Value][] = [
    ['Base model', recipe.model.id ?? recipe.model.path ?? '–'],
    ['Arms', data.arms.map(({ name, flavour }) => `${name} (${flavour ?? 'unknown rules'})`).join(', ')],
    ['Steps', `${grpo.steps}, after a smoke gate of ${recipe.smoke.steps}`],
    ['Trajectories a step', `${grpo.promptsPerStep} prompts × ${grpo.groupSize}`],
    ['Learning rate', String(grpo.learningRate)],
    ['KL coefficient', String(grpo.klCoefficient)],
    ['Clip', `${grpo.clip[0]} / ${grpo.clip[1]}`],
    ['Credit', grpo.credit],
    ['Rollout sampling', `temperature ${grpo.temperature}, top-p ${grpo.topP}`],
    ['Seeds', `training ${grpo.seed}, rollouts ${grpo.rolloutSeed}`],
    [
      'Memory loop',
      `${memory.chunkTokens}-token chunks, memory ≤ ${memory.memoryTokens}, answer ≤ ${memory.finalTokens}`,
    ],
    ['Lengths', `${recipe.evaluation.lengths.join(', ')}, fixed in the recipe before any result`],
  ];
  return factList(facts);
}

/** The fields that agree as a grid, those that differ as a table with every model's value. */
function controlledFields(summaries: readonly { model: string; summary: EvaluationSummary }[]): Value {
  const fields = CONTROLLED.map(({ field, label }) => {
    const values = new Map<string, Set<string>>();
    for (const { model, summary } of summaries) {
      const text = show(summary[field]);
      values.set(text, (values.get(text) ?? new Set()).add(model));
    }
    return { label, values };
  });
  const same = fields.filter(({ values }) => values.size === 1);
  const differing = fields.filter(({ values }) => values.size > 1);
  const words = `${same.length} of ${fields.length} fields are the same in every evaluation`;
  return [
    html`<p>${mark(differing.length === 0 ? 'good' : 'bad', words)}</p>`,
    differing.length > 0 &&
      table(
        'Controlled fields that differ',
        [{ label: 'Field' }, { label: 'Values' }],
        differing.map(({ label, values }) => [
          label,
          [...values].map(([value, models]) => `${value} (${[...models].join(', ')})`).join(' · '),
        ])
      ),
    factList(same.map(({ label, values }) => [label, [...values.keys()].join('')])),
  ];
}

function show(value: unknown): string {
  if (value === undefined) return 'not recorded';
  return value === null ? 'not set' : String(value as string | number);
}

/** The data of each comparison: the same file, taken before the first request. */
function dataTable(data: RunData): Html {
  const rows = data.datasets.flatMap((dataset): Value[][] => {
    const found = data.models.flatMap((model) => findEvaluation(data, model, dataset)?.summary ?? []);
    const first = found[0];
    if (first === undefined) return [];
    const same = found.every((each) => each.data_sha256 === first.data_sha256 && each.total === first.total);
    const complete = found.length === data.models.length;
    const words = `${found.length} of ${data.models.length} models, same file and total`;
    const sign = same && complete ? mark('good', words) : mark(same ? 'warn' : 'bad', same ? words : 'data differs');
    return [[datasetLabel(data, dataset), first.data_file, hash(first.data_sha256), String(first.total), sign]];
  });
  return table(
    'Evaluated data',
    [
      { label: 'Data set' },
      { label: 'File' },
      { label: 'SHA-256' },
      { label: 'Items', number: true },
      { label: 'Agreement' },
    ],
    rows
  );
}
