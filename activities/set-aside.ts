import type { SetAsideArgs } from '../shared/contracts/activities.js';
import { SCREENING } from '../shared/artifacts/training-data.js';
import { hashJson } from '../shared/contracts/canonical-json.js';
import { noteCost } from './cost/cost-writer.js';
import { armPaths, hfPath } from './paths.js';
import type { ActivityPorts, RunFiles } from './ports.js';
import { openRun } from './run-files.js';
import { armKeyParts, dataKeyParts, evaluationKeyParts, screeningKeyParts } from './stage-reuse.js';

/** Files of a training run of one phase; the smoke gate's folder and the converted model lie beside them and stay. */
export function trainingFiles(arm: string, phase: 'smoke' | 'train'): string[] {
  const { folder } = armPaths(arm, phase);
  const job = armPaths(arm, phase).job;
  if (phase === 'smoke') return [folder, job];
  return [
    job,
    ...['rollouts', 'rows', 'train', 'checkpoints', 'reward.csv', 'reward.json', 'metrics.csv'].map(
      (name) => `${folder}/${name}`
    ),
  ];
}

function filesOf(stage: string): string[] {
  const [kind = '', arm = ''] = stage.split(':');
  switch (kind) {
    case 'data':
      return ['data'];
    case 'screen':
      return [SCREENING.folder];
    case 'smoke':
    case 'train':
      return trainingFiles(arm, kind);
    case 'convert':
      return [hfPath(arm), `${hfPath(arm)}.json`];
    case 'evaluate':
      return ['eval'];
    default:
      // Verdict and report are always made anew.
      return [];
  }
}

/** Keys under which an equal stage would be found and taken over instead of being made. */
async function keysOf(run: RunFiles, args: SetAsideArgs, projectRoot: string): Promise<string[]> {
  const [kind, arm = ''] = args.stage.split(':');
  if (kind === 'data') return [hashJson(await dataKeyParts(run, projectRoot))];
  if (kind === 'screen') return [hashJson(await screeningKeyParts(run))];
  if (kind === 'smoke' || kind === 'train') {
    const totalSteps = kind === 'smoke' ? run.recipe.smoke.steps : run.recipe.grpo.steps;
    const parts = await armKeyParts(run, { run: args.run, arm, phase: kind, totalSteps });
    return [hashJson({ ...parts, place: armPaths(arm, kind).folder })];
  }
  if (kind !== 'evaluate') return [];
  const keys: string[] = [];
  for (const model of args.models) {
    const weights = model === 'base' ? undefined : await run.find(hfPath(model));
    for (const dataset of args.datasets) {
      if ((await run.find(`data/${dataset}.jsonl`)) === undefined) continue;
      const call = { run: args.run, model, dataset, ...(weights === undefined ? {} : { weights }) };
      keys.push(hashJson(await evaluationKeyParts(run, call)));
    }
  }
  return keys;
}

/**
 * Makes a stage's activities find nothing of it: its files move to `.discarded/` in the run's folder (they may be what an
 * operator wants to look at; nothing reads them again), and equal results of other runs are forgotten. Safe to repeat.
 *
 * @throws PipelineError StorageFailed
 */
export async function setStageAside(args: SetAsideArgs, ports: ActivityPorts): Promise<void> {
  const run = await openRun(args.run);
  for (const key of await keysOf(run, args, ports.projectRoot)) await run.forgetStage(key);
  await run.setAside(filesOf(args.stage), args.stage.replace(':', '-'));
  await noteCost(args.run, { discarded: args.stage, at: new Date().toISOString() });
  ports.log.info({ run: args.run.pipelineId, stage: args.stage }, 'stage set aside to be made anew');
}
