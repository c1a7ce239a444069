import { ApplicationFailure } from '@temporalio/workflow';
import type { ConvertResult, GenerateResult, TrainResult } from '../shared/contracts/activities.js';
import type { FailureType } from '../shared/contracts/failures.js';

/** What the activities of one step say that they did. */
export interface StepResults {
  generated: GenerateResult;
  converted: ConvertResult;
  trained: TrainResult;
}

/**
 * Never train on when rows were lost: what was generated must be what was transferred and what was consumed.
 *
 * @throws ApplicationFailure RowCountMismatch
 */
export function checkLedger(arm: string, step: number, { generated, converted, trained }: StepResults): void {
  const counts = `generated ${generated.generatedTurns}, transferred ${converted.producedRows} (+ ${converted.trimmedRows} trimmed), consumed ${trained.consumedRows}`;
  const equal =
    generated.generatedTurns === converted.producedRows + converted.trimmedRows &&
    converted.producedRows === trained.consumedRows;
  if (!equal) throw failure('RowCountMismatch', `step ${step} of ${arm}: turn counts differ: ${counts}`);
  if (trained.weightsVersion !== step + 1) {
    throw failure(
      'RowCountMismatch',
      `step ${step} of ${arm}: the actor holds weights version ${trained.weightsVersion}, expected ${step + 1}`
    );
  }
}

function failure(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true });
}
