import type { RunHandle } from '../../shared/contracts/activities.js';
import { SCREENING_SERVER } from '../../shared/contracts/stages.js';

/** Arguments of activities, as far as they say what the work is for. */
export interface WorkArgs {
  run: RunHandle;
  arm?: string;
  phase?: string;
  step?: number;
  model?: string;
  dataset?: string;
  stage?: string;
}

const STAGES: Readonly<Record<string, string>> = {
  prepareData: 'data',
  screenData: 'screen',
  evaluateModel: 'evaluate',
  stopServing: 'evaluate',
  publishReport: 'report',
};

/** Whether an activity's arguments belong to a run: those of the workflow worker's own activities do not. */
export function isWork(args: unknown): args is WorkArgs {
  const run = (args as Partial<WorkArgs> | null | undefined)?.run;
  return typeof run?.root === 'string' && typeof run.pipelineId === 'string';
}

/** The stage that an activity works for, e.g. `train:relax`. */
export function stageOf(activity: string, args: WorkArgs): string {
  if (args.stage !== undefined) return args.stage;
  if (args.arm !== undefined) return `${args.phase ?? 'convert'}:${args.arm}`;
  if (args.model === SCREENING_SERVER) return 'screen';
  return STAGES[activity] ?? activity;
}

/** What a repetition of the activity would do again. */
export function workOf(activity: string, { model, dataset, step }: WorkArgs): string {
  return [activity, model, dataset, step].filter((part) => part !== undefined).join(' ');
}
