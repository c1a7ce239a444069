/** Names of a pipeline's stages and which depend on which. */

/** Name of the served base model of the screening's tries, apart from that of the evaluations. */
export const SCREENING_SERVER = 'screening';

/**
 * @param screened the recipe has a Pass@N screening of its training prompts
 * @returns the stages of a pipeline in the order of the chain, arm by arm.
 */
export function stageNames(arms: readonly string[], screened = false): string[] {
  return [
    'resolve',
    'data',
    ...(screened ? ['screen'] : []),
    ...arms.flatMap((arm) => [`smoke:${arm}`, `train:${arm}`, `convert:${arm}`]),
    'evaluate',
    'judge',
    'report',
  ];
}

/** Order within the chain; stages of different arms do not depend on each other. */
const ORDER = ['resolve', 'data', 'screen', 'smoke', 'train', 'convert', 'evaluate', 'judge', 'report'];

function rankOf(stage: string): number {
  return ORDER.indexOf(stage.split(':')[0] as string);
}

function armOf(stage: string): string | undefined {
  return stage.split(':')[1];
}

/** Whether `stage` is `first` or needs its result, directly or through others. */
export function dependsOn(stage: string, first: string): boolean {
  if (stage === first) return true;
  const [arm, firstArm] = [armOf(stage), armOf(first)];
  const related = arm === undefined || firstArm === undefined || arm === firstArm;
  return related && rankOf(stage) > rankOf(first);
}

/** Whether a recipe's `pauseAfter` names a stage: itself, or its kind for every arm. */
export function pausesAfter(wanted: readonly string[], stage: string): boolean {
  return wanted.includes(stage) || wanted.includes(stage.split(':')[0] as string);
}
