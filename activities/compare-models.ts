import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { readModelHeaders, type TensorPlace } from '../shared/safetensors/headers.js';
import { TensorSampler } from '../shared/safetensors/sample.js';
import { companionProblems } from './model-companions.js';

export interface ModelComparison {
  tensors: number;
  /** Largest absolute difference of any weight that was looked at: all of a small model, samples of a large one. */
  largestDifference: number;
}

/** Problems listed at most: a wrong architecture would name every tensor. */
const LISTED_PROBLEMS = 20;

/**
 * Compares a converted model with its base without loading either: whole files and a complete index, the same tensors (names,
 * shapes, types), sampled values finite and not all equal, configuration and tokenizer of the base.
 *
 * @param modelName how the folder is called in messages
 * @throws PipelineError CheckpointInvalid listing every difference
 */
export async function compareModels(
  baseFolder: string,
  modelFolder: string,
  modelName = modelFolder
): Promise<ModelComparison> {
  const base = await readModelHeaders(baseFolder);
  const model = await readModelHeaders(modelFolder);
  const problems = [
    ...base.problems.map((problem) => `base model: ${problem}`),
    ...model.problems,
    ...tensorProblems(base.tensors, model.tensors),
    ...(await companionProblems(baseFolder, modelFolder)),
  ];
  const values = problems.length === 0 ? await compareValues(base.tensors, model.tensors) : undefined;
  problems.push(...(values?.problems ?? []));
  if (problems.length === 0 && values?.largestDifference === 0)
    problems.push('every weight equals the base model: nothing was trained');
  if (problems.length > 0 || values === undefined) throw invalid(modelName, problems);
  return { tensors: model.tensors.size, largestDifference: values.largestDifference };
}

function invalid(where: string, problems: string[]): PipelineError {
  const shown = problems.slice(0, LISTED_PROBLEMS);
  const more = problems.length > 5 ? ` (and ${problems.length - 5} more)` : '';
  return new PipelineError('CheckpointInvalid', `converted model ${where}: ${problems.slice(0, 5).join('; ')}${more}`, {
    problems: shown,
    where,
  });
}

function tensorProblems(base: Map<string, TensorPlace>, model: Map<string, TensorPlace>): string[] {
  const problems = [...base.keys()].filter((name) => !model.has(name)).map((name) => `${name} is missing`);
  for (const [name, { shape, dtype }] of model) {
    const original = base.get(name);
    if (original === undefined) problems.push(`${name} is not in the base model`);
    else if (original.shape.join('×') !== shape.join('×'))
      problems.push(`${name} has shape ${shape.join('×')}, the base ${original.shape.join('×')}`);
    else if (original.dtype !== dtype) problems.push(`${name} has type ${dtype}, the base ${original.dtype}`);
  }
  return problems;
}

async function compareValues(
  base: Map<string, TensorPlace>,
  model: Map<string, TensorPlace>
): Promise<{ problems: string[]; largestDifference: number }> {
  const problems: string[] = [];
  const sampler = new TensorSampler();
  let largestDifference = 0;
  try {
    for (const [name, tensor] of model) {
      const original = await sampler.sample(base.get(name) as TensorPlace);
      const difference = largestAbsoluteDifference(original, await sampler.sample(tensor));
      if (Number.isNaN(difference)) problems.push(`${name} has values that are not finite`);
      else largestDifference = Math.max(largestDifference, difference);
    }
  } finally {
    await sampler.close();
  }
  return { problems, largestDifference };
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
