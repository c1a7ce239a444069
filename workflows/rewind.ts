/** Thrown where a stage waits, when the operator decided to begin again at an earlier one. Never leaves the workflow. */
export class Rewind extends Error {
  override readonly name = 'Rewind';

  constructor(readonly stage: string) {
    super(`begin again at ${stage}`);
  }
}
