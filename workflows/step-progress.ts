import type { ArmProgress } from '../shared/contracts/progress.js';
import { round } from './thin.js';
import type { StepResults } from './turn-ledger.js';

/** What a finished step says of an arm, its rewards apart. @param seconds how long the step took */
export function stepProgress(
  step: number,
  { generated, converted, trained }: StepResults,
  seconds: number
): Partial<ArmProgress> {
  const tokens = generated.sampledTokens + generated.promptTokens + trained.trainedTokens;
  return {
    step: step + 1,
    kl: round(trained.kl, 6),
    loss: round(trained.loss, 6),
    tokensPerSecond: Math.round(tokens / Math.max(seconds, 0.001)),
    secondsPerStep: round(seconds, 2),
    weightsVersion: trained.weightsVersion,
    ledger: {
      generated: generated.generatedTurns,
      transferred: converted.producedRows,
      consumed: trained.consumedRows,
    },
  };
}
