/** Everything the study runs: recipes that differ from the laptop recipe in what is named here, and in nothing else. */

/** A recipe as JSON, sections as objects. */
export type RawRecipe = Record<string, unknown>;

/** What a run is for. */
export type RunKind = 'seed' | 'frozen' | 'greedy' | 'tries' | 'ablation' | 'shuffled';

export interface StudyRun {
  /** Unique; also the recipe's name and the beginning of the run's id. */
  name: string;
  kind: RunKind;
  /** `grpo.seed` of the run. */
  seed: number;
  /** What differs from the laptop recipe, for people. */
  change: string;
  recipe: RawRecipe;
}

export interface StudyOptions {
  /** Training seeds; the first one is the recipe's own. */
  seeds: number;
  /** GRPO steps of every training run. */
  steps: number;
  /** Evaluation items of each length. */
  items: number;
  /** Folder of all runs. */
  root: string;
}

/** Samples of each item, and prompts, of the question what the base can do with several tries. */
export const TRIES = 8;
const TRIES_ITEMS = 128;

/** Steps whose rewards are the frozen base's, and a rate so small that they move weights by some 1e-7. */
const FROZEN_STEPS = 20;
const FROZEN_RATE = 1e-8;

const SHUFFLED = 'advantages shuffled within groups';

/** Runs in the order of their worth: should the time be short, the last ones are missing. */
export function studyRuns(laptop: RawRecipe, options: StudyOptions): StudyRun[] {
  const grpo = section(laptop, 'grpo');
  const [seed, rolloutSeed] = [Number(grpo['seed'] ?? 1234), Number(grpo['rolloutSeed'] ?? 42)];
  const seeds = Array.from({ length: options.seeds }, (_, index) => index);
  const make = (
    kind: RunKind,
    index: number,
    name: string,
    change: string,
    changes: Record<string, unknown> = {}
  ): StudyRun => {
    const trained = { steps: options.steps, seed: seed + index, rolloutSeed: rolloutSeed + index };
    const base = merged(laptop, { grpo: trained, evaluation: { items: options.items }, artifacts: options.root });
    const recipe = { ...merged(base, changes), name: `study-${name}`, description: undefined, $schema: undefined };
    // Through JSON: the same bytes as a recipe file, and what is undefined is gone.
    return { name, kind, seed: seed + index, change, recipe: JSON.parse(JSON.stringify(recipe)) as RawRecipe };
  };
  const one = { arms: onlyRelax(laptop) };
  const frozen = { ...one, grpo: { steps: Math.min(FROZEN_STEPS, options.steps), learningRate: FROZEN_RATE } };
  const few = { items: Math.min(8, options.items), devItems: 8, lengths: [4] };
  const name = (index: number): string => `seed-${seed + index}`;
  const tries = { items: Math.min(TRIES_ITEMS, options.items), devItems: 8, samplesPerItem: TRIES };
  const shuffled = { ablation: { shuffledAdvantages: true } };
  const freeze = (index: number): StudyRun =>
    make('frozen', index, `${name(index)}-frozen`, `learning rate ${FROZEN_RATE}`, { ...frozen, evaluation: few });
  const greedy = (index: number): StudyRun =>
    make('greedy', index, `${name(index)}-greedy`, 'greedy evaluation', { evaluation: { temperature: 0 } });
  const ablate = (id: string, change: string, changes: RawRecipe): StudyRun =>
    make('ablation', 0, id, change, { ...one, ...changes });
  return [
    ...seeds.map((index) => make('seed', index, name(index), 'another seed')),
    freeze(0),
    greedy(0),
    ablate('shuffled', SHUFFLED, shuffled),
    ablate('no-memory', 'memory emptied every turn', { ablation: { emptyMemory: true } }),
    ...seeds.slice(1).flatMap((index) => [freeze(index), greedy(index)]),
    // What training does without information is luck, so that one seed says little: the others’ rewards beside it.
    ...seeds
      .slice(1)
      .map((index) =>
        make('shuffled', index, `shuffled-${seed + index}`, SHUFFLED, { ...one, ...shuffled, evaluation: few })
      ),
    ablate('share', 'credit: share', { grpo: { credit: 'share' } }),
    ...[1, 0, 0.1].map((klCoefficient) =>
      ablate(`kl-${klCoefficient}`, `KL coefficient ${klCoefficient}`, { grpo: { klCoefficient } })
    ),
    make('tries', 0, `pass-${TRIES}`, `${TRIES} samples an item`, { ...one, evaluation: tries }),
  ];
}

/** The first arm with relax's rules: ablations are about the method, not about the arms' difference. */
function onlyRelax(laptop: RawRecipe): RawRecipe {
  const relax = Object.entries(section(laptop, 'arms')).find(([, arm]) => (arm as RawRecipe)['flavour'] === 'relax');
  return Object.fromEntries(relax === undefined ? [['relax', { flavour: 'relax' }]] : [relax]);
}

function section(recipe: RawRecipe, name: string): RawRecipe {
  return (recipe[name] ?? {}) as RawRecipe;
}

/** Sections are merged member by member; `arms` and everything that is no object is replaced. */
function merged(recipe: RawRecipe, changes: RawRecipe): RawRecipe {
  const result = { ...recipe };
  for (const [name, change] of Object.entries(changes)) {
    const whole = name === 'arms' || typeof change !== 'object';
    result[name] = whole ? change : { ...section(recipe, name), ...(change as RawRecipe) };
  }
  return result;
}
