import type { NamedTensor, Qwen3Config } from '../policy-api.js';
import { parameterShapes } from './parameters.js';

/** Every tensor that is missing, foreign, given twice, of another shape, or not finite. */
export function tensorProblems(config: Qwen3Config, tensors: readonly NamedTensor[]): string[] {
  const wanted = new Map(parameterShapes(config).map(({ name, shape }) => [name, shape]));
  const problems: string[] = [];
  for (const { name, shape, data } of tensors) {
    const expected = wanted.get(name);
    if (expected === undefined) problems.push(`${name} is foreign or given twice`);
    else if (expected.join() !== shape.join())
      problems.push(`${name} has shape [${shape.join(', ')}], expected [${expected.join(', ')}]`);
    else if (!data.every(Number.isFinite)) problems.push(`${name} has values that are not finite`);
    wanted.delete(name);
  }
  for (const name of wanted.keys()) problems.push(`${name} is missing`);
  return problems;
}
