import type { Recipe } from '../../shared/contracts/recipe.js';

/** Activities during which a training job holds its GPUs. */
const TRAINING = new Set(['runTrainingJob']);
/** Activities during which a model is served. */
const SERVING = new Set(['evaluateModel', 'screenData']);

/** Activities at an arm's engine: the server of its rollouts stays up between them. The short conversion of rows is not counted. */
const STEPS = new Set(['generateRollouts', 'trainStep', 'saveCheckpoint']);

/** How SGLang and vLLM are told to share a model by several GPUs. */
const PARALLEL_OPTION = /^--(?:tp|tp-size|tensor-parallel-size)$/;

/** GPUs that an activity holds while it runs; 0 on the embedded engine, which has none, and where a server is only used. */
export function gpusOf(activity: string, { engine, cluster, serving, rolloutServing }: Recipe): number {
  if (TRAINING.has(activity)) return engine === 'ray' ? (cluster?.gpus ?? 0) : 0;
  if (SERVING.has(activity)) return gpusOfServer(serving);
  return STEPS.has(activity) ? gpusOfServer(rolloutServing) : 0;
}

function gpusOfServer(serving: Recipe['serving'] | Recipe['rolloutServing']): number {
  const ours = serving !== undefined && serving.engine !== 'embedded' && serving.endpoint === undefined;
  return ours && !isOnCpu(serving) ? servingGpus(serving.args) : 0;
}

/** The recipe tells the server to use no GPU: by SGLang's option, or by showing it none. */
function isOnCpu({ args, env }: NonNullable<Recipe['serving']>): boolean {
  return /(^| )--device[ =]cpu( |$)/.test(args.join(' ')) || env['CUDA_VISIBLE_DEVICES'] === '';
}

function servingGpus(args: readonly string[]): number {
  for (const [at, arg] of args.entries()) {
    const [name = '', joined] = arg.split('=', 2);
    const gpus = Number(PARALLEL_OPTION.test(name) ? (joined ?? args[at + 1]) : NaN);
    if (Number.isSafeInteger(gpus) && gpus > 0) return gpus;
  }
  return 1;
}
