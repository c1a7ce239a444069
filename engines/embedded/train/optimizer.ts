import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { GRADIENT_LANES, type Model, refreshWeights } from '../model/model.js';
import type { OptimizerOptions } from '../policy-api.js';

/** Zeroes all gradient lanes. */
export function clearGradients({ kernels, gradients, parameters }: Model): void {
  for (const lane of gradients) kernels.heap.fill(0, lane, lane + parameters.length);
}

/** Adds the lanes up, in their order, into lane 0. @returns global L2 norm */
export function sumGradients({ kernels, gradients, parameters }: Model): number {
  for (let lane = 1; lane < GRADIENT_LANES; lane += 1)
    kernels.addInto(gradients[0]!, gradients[lane]!, parameters.length);
  return Math.sqrt(kernels.squareSum(gradients[0]!, parameters.length));
}

/**
 * Global clipping g ← g · min(1, clip / (‖g‖ + 1e−6)), then AdamW. Decay on matrices and embeddings (a tied one once), not on
 * 1-D tensors (Megatron's convention). gradientClip 0 = no clipping.
 *
 * @param step number of this update, from 1
 */
export function applyAdamw(model: Model, options: OptimizerOptions, gradientNorm: number, step: number): void {
  const { kernels, parameters, gradients, firstMoments, secondMoments } = model;
  const clip = options.gradientClip > 0 ? Math.min(1, options.gradientClip / (gradientNorm + 1e-6)) : 1;
  const ranges = [
    { from: 0, to: parameters.matrixLength, weightDecay: options.weightDecay },
    { from: parameters.matrixLength, to: parameters.length, weightDecay: 0 },
  ];
  for (const { from, to, weightDecay } of ranges) {
    kernels.adamw({
      parameter: parameters.start + from,
      gradient: gradients[0]! + from,
      first: firstMoments + from,
      second: secondMoments + from,
      length: to - from,
      clip,
      learningRate: options.learningRate,
      beta1: options.beta1,
      beta2: options.beta2,
      epsilon: options.epsilon,
      weightDecay,
      step,
    });
  }
  refreshWeights(model);
}

/** @throws PipelineError NonFiniteLoss when loss or gradient norm is not a finite number; call before anything is applied */
export function requireFinite(loss: number, gradientNorm: number): void {
  if (Number.isFinite(loss) && Number.isFinite(gradientNorm)) return;
  throw new PipelineError(
    'NonFiniteLoss',
    `loss ${loss}, gradient norm ${gradientNorm}: nothing was applied. Lower the learning rate or look at the rows of this step.`,
    { problems: [`loss ${loss}`, `gradient norm ${gradientNorm}`] }
  );
}
