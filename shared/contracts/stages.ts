/** Names of a pipeline's stages and which depend on which. */

/** @returns the stages of a pipeline in the order of the chain, arm by arm. */
export function stageNames(arms: readonly string[]): string[] {
  return [
    'resolve',
    'data',
    ...arms.flatMap((arm) => [`smoke:${arm}`, `train:${arm}`, `convert:${arm}`]),
    'evaluate',
    'judge',
    'report',
  ];
}

/** Order within the chain; stages of different arms do not depend on each other. */
const RANKS: Readonly<Record<string, number>> = {
  resolve: 0,
  data: 1,
  smoke: 2,
  train: 3,
  convert: 4,
  evaluate: 5,
  judge: 6,
  report: 7,
};

function rankOf(stage: string): number {
  return RANKS[stage.split(':')[0] as string] ?? -1;
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
