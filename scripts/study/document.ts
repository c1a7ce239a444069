import { percent, signed } from '../../shared/report/format.js';
import { gainsOf, studyChecks, type Check, type StudyFacts } from './checks.js';
import { TRIES } from './plan.js';
import { mean, type ArmResult, type RunResult, type Tries } from './results.js';

/** Everything docs/learning.md is made of. */
export interface Findings extends StudyFacts {
  tries: Tries[];
  /** The base on training tasks: its groups of {@link TRIES}. */
  groups: { prompts: number; any: number } | undefined;
  steps: number;
  /** Names of planned runs that are not finished. */
  missing: string[];
  /** File names of pictures that were drawn. */
  pictures: ReadonlySet<string>;
}

/** The study as Markdown: goals first, then what they were measured from. */
export function learningDocument(findings: Findings): string {
  const parts = [
    ...head(findings),
    ...checksPart(studyChecks(findings)),
    ...seedsPart(findings),
    ...evaluationPart('Evaluation at the recipe’s sampling', findings.seeds, 'learning-evaluation.svg', findings),
    ...evaluationPart('Greedy evaluation of the same models (temperature 0)', findings.greedy, '', findings),
    ...ablationsPart(findings),
    ...triesPart(findings),
    ...missingPart(findings),
  ];
  return `${parts.join('\n')}\n`;
}

function head({ steps }: Findings): string[] {
  return [
    '# Did the policy learn?',
    '',
    `Made by \`make study\` from finished runs: the laptop recipe (${steps} GRPO steps of 8 × 8) with other seeds, and with parts of the`,
    'method taken away. Every number comes from the runs’ own files (`reward.csv`, `metrics.csv`, evaluation summaries, `verdict.json`).',
    '',
  ];
}

function checksPart(checks: readonly Check[]): string[] {
  const rows = checks.map(({ goal, measured, met }) => [goal, measured, met ? 'yes' : '**no**']);
  return ['## Goals', '', ...table(['goal', 'measured', 'met'], rows), ''];
}

function seedsPart({ seeds, frozen, pictures, steps }: Findings): string[] {
  const rows = seeds.flatMap(({ run, arms }) =>
    arms.map((arm) => [run.seed, arm.arm, reward(frozen.get(run.seed)), ...trainingCells(arm)])
  );
  return [
    '## Training: every seed and arm',
    '',
    ...picture('learning-seeds.svg', 'Reward curves of every seed and arm', pictures),
    ...table(['seed', 'arm', 'frozen base', ...TRAINING_COLUMNS], rows),
    '',
    'Mean reward of a step’s 64 trajectories. *Frozen base*: the same seed’s first tasks',
    `(${Math.min(20, steps)} steps, ${Math.min(20, steps) * 64} trajectories) with a learning rate of 1e-8, which moves weights by some 1e-7. The first ten steps`,
    'are above it because training is under way. KL (to the base, nats a token), entropy and unended responses: mean of the last ten steps.',
    '',
  ];
}

const TRAINING_COLUMNS = ['first ten', 'last ten', 'KL', 'largest KL', 'entropy', 'unended'];

function trainingCells(arm: ArmResult): string[] {
  const { first, last, kl, largestKl, entropy, unended } = arm;
  return [reward(first), reward(last), kl.toFixed(3), largestKl.toFixed(3), entropy.toFixed(3), percent(unended * 100)];
}

function evaluationPart(title: string, runs: readonly RunResult[], file: string, { pictures }: Findings): string[] {
  if (runs.length === 0) return [];
  const rows = runs.flatMap(({ run, arms }) => arms.map((arm) => [run.seed, arm.arm, ...comparisonCells(arm)]));
  const first = runs[0]?.arms[0]?.comparisons ?? [];
  return [
    `## ${title}`,
    '',
    ...picture(file, 'Right answers at every length: base grey, relax blue, vime orange', pictures),
    ...table(['seed', 'arm', ...lengthColumns(first)], rows),
    '',
    `Right answers (sub-EM), %, of ${first[0]?.items ?? 0} unseen contexts a length, base → trained; in brackets the difference’s 95 % interval in points`,
    '(paired bootstrap over the items, 10,000 resamples).',
    '',
  ];
}

function lengthColumns(comparisons: ArmResult['comparisons']): string[] {
  return comparisons.map(({ length }) => `${length} chunks`);
}

function comparisonCells({ comparisons }: ArmResult): string[] {
  return comparisons.map(({ base, trained, interval }) => {
    const range = interval && ` (${signed(interval.low * 100, 1)} … ${signed(interval.high * 100, 1)})`;
    return `${(base * 100).toFixed(1)} → ${(trained * 100).toFixed(1)}${range ?? ''}`;
  });
}

function ablationsPart(findings: Findings): string[] {
  const { ablations, seeds, pictures } = findings;
  if (ablations.length === 0) return [];
  const seed = ablations[0]?.run.seed;
  const plain = seeds.filter(({ run }) => run.seed === seed).flatMap(({ arms }) => arms.slice(0, 1));
  const rows = [
    ...plain.map((arm) => ['the recipe as it is', ...trainingCells(arm), ...comparisonCells(arm)]),
    ...ablations.flatMap(({ run, arms }) =>
      arms.map((arm) => [run.change, ...trainingCells(arm), ...comparisonCells(arm)])
    ),
  ];
  const lengths = lengthColumns(ablations[0]?.arms[0]?.comparisons ?? []);
  return [
    '## Where the gain comes from',
    '',
    ...picture('learning-ablations.svg', 'Reward curves without parts of the method', pictures),
    ...table(['change', ...TRAINING_COLUMNS, ...lengths], rows),
    '',
    `Arm relax, seed ${seed ?? '–'}. Grey in the picture: the recipe as it is; dashed: the frozen base. *Shuffled*: within every group the advantages`,
    'are dealt out at random, so that the gradient has the same size and no information. *Memory emptied*: every chunk is read with “No',
    'previous memory”, in training and evaluation, the base too; only what is in the last chunk can then be answered: 1 of 4, 8 and 16.',
    '',
    ...shuffledPart(findings),
  ];
}

/** The walk without information, of every seed: where it stood in the middle says as much as where it ended. */
function shuffledPart({ shuffled, seeds, frozen }: Findings): string[] {
  const rows = shuffled.flatMap(({ run, arms }) =>
    arms.map(({ rewards, last, kl, entropy }) => {
      const middle = mean(rewards.slice(Math.floor(rewards.length / 2) - 5, Math.floor(rewards.length / 2) + 5));
      const base = frozen.get(run.seed);
      return [run.seed, reward(base), reward(middle), reward(last), kl.toFixed(3), entropy.toFixed(3)];
    })
  );
  return [
    'Shuffled advantages, every seed that was run (reward of the frozen base, of the ten steps in the middle, and of the last ten):',
    '',
    ...table(['seed', 'frozen base', 'middle', 'last ten', 'KL', 'entropy'], rows),
    '',
    'AdamW divides by the gradient’s own size, so that a gradient without information still moves the weights: the reward wanders.',
    `Mean gain over the frozen base: ${signed(mean(gainsOf(shuffled, frozen)), 2)} shuffled, ${signed(mean(gainsOf(seeds, frozen)), 2)} as the recipe is.`,
    '',
  ];
}

function triesPart({ tries, groups, frozen }: Findings): string[] {
  if (tries.length === 0 && groups === undefined) return [];
  const rows = tries.map(({ model, length, items, one, any }) => [
    model === 'base' ? 'base' : `${model}, trained`,
    `${length} chunks, evaluation sampling`,
    items,
    percent(one * 100),
    percent(any * 100),
  ]);
  const training = groups && [
    [
      'base',
      '4 chunks, training sampling',
      groups.prompts,
      percent(mean([...frozen.values()]) * 100),
      percent(groups.any * 100),
    ],
  ];
  return [
    `## Could the base do it with ${TRIES} tries?`,
    '',
    ...table(['model', 'tasks', 'prompts', 'one try', `any of ${TRIES}`], [...(training ?? []), ...rows]),
    '',
    '*One try*: mean over all samples. *Any*: prompts with at least one right sample, which no selection without the answers could reach.',
    'A trained model whose single try lies above the base’s *any* does more than pick the base’s lucky answers.',
    '',
  ];
}

function missingPart({ missing }: Findings): string[] {
  if (missing.length === 0) return [];
  return ['## Not run', '', `These runs of the study are not in these tables: ${missing.join(', ')}.`, ''];
}

function picture(file: string, text: string, drawn: ReadonlySet<string>): string[] {
  return drawn.has(file) ? [`![${text}](${file})`, ''] : [];
}

function reward(value: number | undefined): string {
  return value === undefined ? '–' : value.toFixed(3);
}

function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)];
}
