import { PipelineError } from '../contracts/pipeline-error.js';
import type { MemoryLimits } from '../contracts/trajectory.js';

const NAMES = ['chunkTokens', 'memoryTokens', 'finalTokens', 'maxChunks'] as const;

/** @throws PipelineError RecipeInvalid naming every given limit that is not a positive whole number */
export function checkLimits(limits: Partial<MemoryLimits>): void {
  const problems: string[] = [];
  for (const name of NAMES) {
    const value = limits[name];
    if (value !== undefined && (!Number.isSafeInteger(value) || value <= 0))
      problems.push(`memory.${name} must be a positive whole number, got ${value}`);
  }
  if (problems.length > 0) throw new PipelineError('RecipeInvalid', problems.join('; '), { problems });
}
