import { parseRewardCsv } from '../judge-directory.js';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetRow } from '../../contracts/dataset.js';
import type { Recipe } from '../../contracts/recipe.js';
import type { Trajectory } from '../../contracts/trajectory.js';
import { promptRows } from '../../grpo/prompt-schedule.js';
import { conversionOptions } from '../../grpo/conversion-options.js';
import { convertTrajectories } from '../../grpo/rows.js';
import { lengthFacts } from '../../grpo/step-facts.js';
import { rewardSource } from '../../scoring/reward-source.js';
import { scoreTrajectory } from '../../scoring/reward.js';
import { readJsonLines } from '../json-lines.js';
import { readRows } from '../rows-parquet.js';
import { trainingData } from '../training-data.js';
import { readTrajectories } from '../trajectories-parquet.js';
import { CheckBuilder, type VerifyCheck } from './check.js';
import { checkMetrics, rowCounts } from './step-bounds.js';
import { verifySeries } from './verify-series.js';

/** `train/step-NNNNNN.json`, as far as it follows from the trajectories. */
export type StepRecord = Record<string, unknown> & { step: number };

/** A training run of an arm in a run's folder. */
export interface Phase {
  directory: string;
  recipe: Recipe;
  arm: string;
  /** `arms/<arm>` or `arms/<arm>/smoke`. */
  folder: string;
  steps: number;
  answers: readonly Answer[];
}

interface Answer {
  label: string;
  groundTruth: string[];
}

/**
 * Every training step of every arm from its saved trajectories: rewards from the final outputs and the data, rows, ledger,
 * and the reward and metric series.
 */
export async function verifySteps(directory: string, recipe: Recipe): Promise<VerifyCheck> {
  const check = new CheckBuilder(
    'steps',
    'rewards, advantages, training rows, turn ledger, token counts and series, again from the saved trajectories; loss and ratios within their bounds'
  );
  const answers = await readAnswers(directory, trainingData(recipe), check);
  for (const arm of Object.keys(recipe.arms)) {
    const common = { directory, recipe, arm, answers };
    await verifyPhase({ ...common, folder: `arms/${arm}/smoke`, steps: recipe.smoke.steps }, check);
    await verifyPhase({ ...common, folder: `arms/${arm}`, steps: recipe.grpo.steps }, check);
  }
  return check.done();
}

async function readAnswers(directory: string, data: string, check: CheckBuilder): Promise<Answer[]> {
  const answers: Answer[] = [];
  await check.attempt(data, async () => {
    await readJsonLines(join(directory, data), (value) => {
      const row = value as DatasetRow;
      answers.push({ label: row.label, groundTruth: row.metadata.ground_truth });
    });
  });
  return answers;
}

async function verifyPhase(phase: Phase, check: CheckBuilder): Promise<void> {
  if (phase.recipe.engine === 'ray') return await verifyJobSeries(phase, check);
  const records: StepRecord[] = [];
  for (let step = 0; step < phase.steps; step += 1) {
    const name = `step-${String(step).padStart(6, '0')}`;
    const record = join(phase.directory, phase.folder, 'train', `${name}.json`);
    // A run that stopped has no more steps from here on; a series that claims them is found out below.
    if (!existsSync(record)) break;
    check.count();
    await check.attempt(`${phase.folder} ${name}`, async () => {
      const known = JSON.parse(await readFile(record, 'utf8')) as StepRecord;
      records.push(known);
      await verifyStep(phase, step, name, known, check);
    });
  }
  await verifySeries(phase, records, check);
}

async function verifyStep(
  phase: Phase,
  step: number,
  name: string,
  record: StepRecord,
  check: CheckBuilder
): Promise<void> {
  const file = (folder: string): string => join(phase.directory, phase.folder, folder, `${name}.parquet`);
  const trajectories = await readTrajectories(file('rollouts'));
  const { rows, producedRows, trimmedRows } = convertTrajectories(
    trajectories,
    conversionOptions(phase.recipe, phase.arm, step)
  );
  const saved = await readRows(file('rows'));
  for (const [column, values] of Object.entries(rows)) {
    check.equal(`${phase.folder}/rows/${name}.parquet, column ${column}`, saved[column as keyof typeof saved], values);
  }
  verifyRewards(phase, step, trajectories, check);
  const derived = {
    step,
    weights_version: step + 1,
    mean_reward: trajectories.reduce((sum, { reward }) => sum + reward, 0) / trajectories.length,
    generated_turns: trajectories.reduce((sum, { turns }) => sum + turns.length, 0),
    transferred_rows: producedRows,
    trimmed_rows: trimmedRows,
    consumed_rows: producedRows,
  };
  const facts = { ...rowCounts(rows), ...lengthFacts(trajectories, rows) };
  const where = `${phase.folder}/train/${name}.json`;
  for (const [field, value] of Object.entries({ ...derived, ...facts }))
    check.equal(`${where}, ${field}`, record[field], value);
  if (phase.recipe.engine === 'embedded') checkMetrics(where, record, rows, phase.recipe.grpo, check);
  await verifyFacts(
    phase,
    name,
    { ...derived, ...facts, ...tokenCounts(trajectories), produced_rows: producedRows },
    check
  );
}

/** The small files beside trajectories and rows, from which a repeated activity answers. */
async function verifyFacts(
  phase: Phase,
  name: string,
  derived: Readonly<Record<string, unknown>>,
  check: CheckBuilder
): Promise<void> {
  for (const folder of ['rollouts', 'rows']) {
    const path = `${phase.folder}/${folder}/${name}.json`;
    await check.attempt(path, async () => {
      const facts = JSON.parse(await readFile(join(phase.directory, path), 'utf8')) as Record<string, unknown>;
      for (const [field, value] of Object.entries(facts)) check.equal(`${path}, ${field}`, value, derived[field]);
    });
  }
}

/** Of a training job there are no trajectories: its series must be what was read from its log. */
async function verifyJobSeries(phase: Phase, check: CheckBuilder): Promise<void> {
  const kind = phase.folder.endsWith('/smoke') ? 'smoke' : 'train';
  const source = `arms/${phase.arm}/job/${kind}/steps.jsonl`;
  const csv = join(phase.directory, phase.folder, 'reward.csv');
  if (!existsSync(csv)) return;
  await check.attempt(`${phase.folder}/reward.csv`, async () => {
    const derived: { step: number; reward: unknown }[] = [];
    const printed: { metrics: Record<string, number> }[] = [];
    await readJsonLines(join(phase.directory, source), (value) => {
      const { step, reward, metrics } = value as StepRecord & { metrics: Record<string, number> };
      if (step >= phase.steps) return;
      derived.push({ step, reward });
      printed.push({ metrics });
    });
    check.count(derived.length);
    check.equal(`${phase.folder}/reward.csv`, parseRewardCsv(csv, await readFile(csv, 'utf8')), derived);
    check.equal(`${source}, steps`, derived.length, phase.steps);
    const origin = `${phase.folder}/reward.json`;
    if (existsSync(join(phase.directory, origin)))
      check.equal(origin, JSON.parse(await readFile(join(phase.directory, origin), 'utf8')), rewardSource(printed));
  });
}

function tokenCounts(trajectories: readonly Trajectory[]): Record<string, number> {
  const turns = trajectories.flatMap((trajectory) => trajectory.turns);
  const sampled = turns.reduce((sum, { responseLength }) => sum + responseLength, 0);
  const all = turns.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return { sampled_tokens: sampled, prompt_tokens: all - sampled };
}

/** Scores the final outputs again, against the data rows that the schedule gives this step. */
function verifyRewards(phase: Phase, step: number, trajectories: readonly Trajectory[], check: CheckBuilder): void {
  const { grpo, arms } = phase.recipe;
  if (phase.answers.length === 0) return;
  const prompts = promptRows(step, grpo.promptsPerStep, phase.answers.length, grpo.rolloutSeed);
  for (const trajectory of trajectories) {
    const answer = phase.answers[prompts[trajectory.groupIndex] ?? -1];
    const where = `${phase.folder} step ${step}, trajectory ${trajectory.index}`;
    if (answer === undefined) {
      check.problem(`${where} has group ${trajectory.groupIndex}, the step has ${prompts.length} prompts.`);
      continue;
    }
    const scored = scoreTrajectory(arms[phase.arm]?.flavour ?? 'relax', {
      finalOutput: trajectory.finalOutput,
      response: trajectory.finalOutput,
      ...answer,
    });
    const recorded = [trajectory.reward, trajectory.prediction, trajectory.diagnostic];
    check.equal(`${where}, reward`, recorded, [scored.score, scored.prediction, scored.diagnostic]);
  }
}
