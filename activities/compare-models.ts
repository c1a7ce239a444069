import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { readSafetensors } from '../shared/safetensors/read.js';
import { join } from 'node:path';

export interface ModelComparison {
  tensors: number;
  /** Largest absolute difference of any weight. */
  largestDifference: number;
}

/** Problems listed at most: a wrong architecture would name every tensor. */
const LISTED_PROBLEMS = 20;

/**
 * Compares a converted model with its base: same tensors (names, shapes), all finite, and at least one weight different.
 *
 * @throws PipelineError CheckpointInvalid listing the differences
 */
export async function compareModels(baseFolder: string, modelFolder: string): Promise<ModelComparison> {
  const base = new Map(
    (await readSafetensors(join(baseFolder, 'model.safetensors'))).map((tensor) => [tensor.name, tensor])
  );
  const model = new Map(
    (await readSafetensors(join(modelFolder, 'model.safetensors'))).map((tensor) => [tensor.name, tensor])
  );
  const problems: string[] = [];
  for (const name of base.keys()) if (!model.has(name)) problems.push(`${name} is missing`);
  let largestDifference = 0;
  for (const [name, tensor] of model) {
    const original = base.get(name);
    if (original === undefined) problems.push(`${name} is not in the base model`);
    else if (original.shape.join('×') !== tensor.shape.join('×')) {
      problems.push(`${name} has shape ${tensor.shape.join('×')}, the base ${original.shape.join('×')}`);
    } else {
      const difference = largestAbsoluteDifference(original.data, tensor.data);
      if (Number.isNaN(difference)) problems.push(`${name} has values that are not finite`);
      else largestDifference = Math.max(largestDifference, difference);
    }
  }
  if (problems.length === 0 && largestDifference === 0)
    problems.push('every weight equals the base model: nothing was trained');
  if (problems.length > 0) {
    throw new PipelineError('CheckpointInvalid', `converted model ${modelFolder}: ${problems.slice(0, 5).join('; ')}`, {
      problems: problems.slice(0, LISTED_PROBLEMS),
      where: modelFolder,
    });
  }
  return { tensors: model.size, largestDifference };
}

/** NaN when any value of `b` is not finite. */
function largestAbsoluteDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let index = 0; index < b.length; index += 1) {
    const value = b[index] as number;
    if (!Number.isFinite(value)) return NaN;
    largest = Math.max(largest, Math.abs(value - (a[index] as number)));
  }
  return largest;
}
