import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetRow } from '../../contracts/dataset.js';
import type { Recipe } from '../../contracts/recipe.js';
import type { Trajectory } from '../../contracts/trajectory.js';
import { promptRows } from '../../grpo/prompt-schedule.js';
import { conversionOptions } from '../../grpo/conversion-options.js';
import { convertTrajectories } from '../../grpo/rows.js';
import { scoreTrajectory } from '../../scoring/reward.js';
import { parseRewardCsv } from '../judge-directory.js';
import { readJsonLines } from '../json-lines.js';
import { readRows } from '../rows-parquet.js';
import { trainingData } from '../training-data.js';
import { readTrajectories } from '../trajectories-parquet.js';
import { CheckBuilder, type VerifyCheck } from './check.js';

/** `train/step-NNNNNN.json`, as far as it follows from the trajectories. */
type StepRecord = Record<string, unknown> & { step: number };

interface Phase {
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
    'reward of every trajectory, training rows, turn ledger and series, again from the saved trajectories'
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
  for (const [field, value] of Object.entries(derived)) {
    check.equal(`${phase.folder}/train/${name}.json, ${field}`, record[field], value);
  }
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

/** reward.csv, metrics.csv and the smoke gate are copies of the steps' records: cell by cell. */
async function verifySeries(phase: Phase, records: readonly StepRecord[], check: CheckBuilder): Promise<void> {
  const path = (name: string): string => join(phase.directory, phase.folder, name);
  if (existsSync(path('reward.csv'))) {
    await check.attempt(`${phase.folder}/reward.csv`, async () => {
      const points = parseRewardCsv(path('reward.csv'), await readFile(path('reward.csv'), 'utf8'));
      const derived = records.map(({ step, mean_reward: reward }) => ({ step, reward }));
      check.equal(`${phase.folder}/reward.csv`, points, derived);
      check.equal(`${phase.folder}/reward.csv, steps`, points.length, phase.steps);
    });
  }
  if (existsSync(path('metrics.csv'))) {
    await check.attempt(`${phase.folder}/metrics.csv`, async () => {
      const [header = '', ...lines] = (await readFile(path('metrics.csv'), 'utf8')).trimEnd().split('\n');
      const columns = header.split(',').map((column) => (column === 'reward' ? 'mean_reward' : column));
      const derived = records.map((record) => columns.map((column) => String(record[column])).join(','));
      check.equal(`${phase.folder}/metrics.csv`, lines, derived);
    });
  }
  if (existsSync(path('gate.json'))) {
    await check.attempt(`${phase.folder}/gate.json`, async () => {
      const gate = JSON.parse(await readFile(path('gate.json'), 'utf8')) as { passed?: unknown; steps?: StepRecord[] };
      verifyGate(phase, gate, records, check);
    });
  }
}

function verifyGate(
  phase: Phase,
  gate: { passed?: unknown; steps?: StepRecord[] },
  records: readonly StepRecord[],
  check: CheckBuilder
): void {
  const steps = gate.steps ?? [];
  check.equal(`${phase.folder}/gate.json, steps`, steps.length, phase.steps);
  check.equal(`${phase.folder}/gate.json, passed`, gate.passed, true);
  steps.forEach((step, at) => {
    for (const [field, value] of Object.entries(step)) {
      // `equal` is the gate's own finding: the counts of a step that got this far are equal.
      const derived = field === 'equal' ? true : records[at]?.[field];
      check.equal(`${phase.folder}/gate.json, step ${at}, ${field}`, value, derived);
    }
  });
}
