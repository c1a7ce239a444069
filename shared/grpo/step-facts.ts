import type { TrainingRows, Trajectory } from '../contracts/trajectory.js';

/** Means over a step's rows and trajectories, as `rows/step-NNNNNN.json` and the step's record hold them. */
export interface LengthFacts {
  /** Over rows. Unit: tokens. */
  mean_response_tokens: number;
  /** Over memories of all turns. Unit: tokens. */
  mean_memory_tokens: number;
  /** Rows whose response hit its token limit; 0 … 1. */
  truncated_share: number;
}

export function lengthFacts(trajectories: readonly Trajectory[], rows: TrainingRows): LengthFacts {
  return {
    mean_response_tokens: mean(rows.response_lengths),
    mean_memory_tokens: mean(trajectories.flatMap((trajectory) => trajectory.memoryTokenLengths)),
    truncated_share: mean(rows.truncated),
  };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
