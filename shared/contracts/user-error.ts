/** Exit codes of every command. */
export const EXIT = {
  /** Done, or passed. */
  ok: 0,
  /** Failed, or not passed. */
  failed: 1,
  /** Wrong use, or not comparable. */
  usage: 2,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

export interface UserErrorDetails {
  /** How to correct it: one or a few sentences. */
  cure?: string;
  /** Everything that was found, one line each. */
  problems?: readonly string[];
  exitCode?: number;
  cause?: unknown;
}

/**
 * Something the person at the terminal can correct. Printed on one screen as what, where and how to fix; never with a stack
 * trace. Failures of runs are `PipelineError`s.
 */
export class UserError extends Error {
  override readonly name = 'UserError';
  readonly cure: string | undefined;
  readonly problems: readonly string[];
  readonly exitCode: number;

  constructor(message: string, details: UserErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.cure = details.cure;
    this.problems = details.problems ?? [];
    this.exitCode = details.exitCode ?? EXIT.failed;
  }
}
