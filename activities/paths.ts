import type { Phase } from '../shared/contracts/activities.js';

/** Steps are written with six digits, so that files sort by step. */
function stepName(step: number): string {
  return `step-${String(step).padStart(6, '0')}`;
}

/** Relative paths of one arm's files within a run. The smoke gate has the same layout one folder deeper. */
export interface ArmPaths {
  folder: string;
  rollouts(step: number): string;
  rolloutFacts(step: number): string;
  rows(step: number): string;
  rowFacts(step: number): string;
  train(step: number): string;
  checkpoints: string;
  checkpoint(step: number): string;
  rewardCsv: string;
  /** Engine ray: which of the framework’s numbers the rewards are. */
  rewardSource: string;
  metricsCsv: string;
  /** The same series for TensorBoard: `tensorboard --logdir <run>/arms`. */
  tensorboard: string;
  gate: string;
  /** Engine ray: lineage, steps and logs of the jobs. Beside the smoke gate's files, not within them. */
  job: string;
  jobSteps: string;
  /** Engine ray: what a checkpoint consists of. */
  checkpointFiles(step: number): string;
}

export function armPaths(arm: string, phase: Phase): ArmPaths {
  const folder = phase === 'train' ? `arms/${arm}` : `arms/${arm}/smoke`;
  const checkpoint = (step: number): string => `${folder}/checkpoints/iter_${String(step).padStart(7, '0')}`;
  return {
    folder,
    rollouts: (step) => `${folder}/rollouts/${stepName(step)}.parquet`,
    rolloutFacts: (step) => `${folder}/rollouts/${stepName(step)}.json`,
    rows: (step) => `${folder}/rows/${stepName(step)}.parquet`,
    rowFacts: (step) => `${folder}/rows/${stepName(step)}.json`,
    train: (step) => `${folder}/train/${stepName(step)}.json`,
    checkpoints: `${folder}/checkpoints`,
    // The frameworks' own naming: the folder carries the rollout id of the last step in it.
    checkpoint,
    rewardCsv: `${folder}/reward.csv`,
    rewardSource: `${folder}/reward.json`,
    metricsCsv: `${folder}/metrics.csv`,
    tensorboard: `${folder}/tensorboard/events.out.tfevents.0.memagent`,
    gate: `${folder}/gate.json`,
    job: `arms/${arm}/job/${phase}`,
    jobSteps: `arms/${arm}/job/${phase}/steps.jsonl`,
    checkpointFiles: (step) => `${checkpoint(step)}.json`,
  };
}

/** Steps before `step` whose checkpoint is due when one is saved after every `every` steps. */
export function dueCheckpoints(every: number, step: number): number[] {
  const due: number[] = [];
  for (let at = every - 1; at < step; at += every) due.push(at);
  return due;
}

/** Folder of the converted Hugging Face model of an arm. */
export function hfPath(arm: string): string {
  return `arms/${arm}/hf`;
}

/** Files of one evaluation. */
export function evaluationPaths(model: string, dataset: string): { samples: string; summary: string } {
  return { samples: `eval/${model}/${dataset}.jsonl`, summary: `eval/${model}/${dataset}.summary.json` };
}

/** Folder (not an artifact) of an engine's lease file and log. */
export function enginePath(name: string): string {
  return `.engines/${name}`;
}
