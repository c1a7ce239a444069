import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Qwen3Config } from '../policy-api.js';

/** @throws PipelineError CheckpointInvalid listing the differences; the longest sequence may differ */
export function requireSameModel(held: Qwen3Config, other: Qwen3Config, folder: string): void {
  const names = (Object.keys(held) as (keyof Qwen3Config)[]).filter((name) => name !== 'maxPositions');
  const problems = names
    .filter((name) => held[name] !== other[name])
    .map((name) => `${name} is ${other[name]}, the engine's is ${held[name]}`);
  if (problems.length === 0) return;
  throw new PipelineError('CheckpointInvalid', `${folder} is another model: ${problems.join('; ')}`, {
    where: folder,
    problems,
  });
}
