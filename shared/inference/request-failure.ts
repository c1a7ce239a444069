import { PipelineError } from '../contracts/pipeline-error.js';
import { printable } from './printable.js';

/** What went wrong with one attempt of one request. */
export interface FailureFacts {
  /** `GenerationFailed`: the server answered, and not usably. `EngineUnavailable`: it did not answer. */
  type: 'GenerationFailed' | 'EngineUnavailable';
  /** Whether the same request may succeed when it is sent again. */
  retryable: boolean;
  /** Answered status, when there was an answer. */
  status?: number;
  /** Body of a refused request, as received. */
  body?: string;
  /** Least wait before the next attempt that the server asked for, milliseconds. */
  retryAfterMs?: number;
  /** What to do, when something better than the failure table's cure is known. */
  cure?: string;
}

/** A failed attempt, before it is known whether it will be repeated. Leaves this folder only as a `PipelineError`. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';

  constructor(
    /** Method and address, e.g. `POST http://127.0.0.1:30000/generate`. */
    readonly where: string,
    message: string,
    readonly facts: FailureFacts,
    options?: { cause?: unknown }
  ) {
    super(`${where}: ${message}`, options);
  }

  /** The error that callers see; `attempts` = how often the request was sent. */
  toPipelineError(attempts: number): PipelineError {
    const tries = attempts > 1 ? ` (${attempts} attempts)` : '';
    const cure = this.facts.cure;
    return new PipelineError(
      this.facts.type,
      `${this.message}${tries}${cure === undefined ? '' : `. ${cure}`}`,
      { where: this.where, ...(cure === undefined ? {} : { cure }) },
      { cause: this }
    );
  }
}

const REFUSAL_CURES: Record<number, string> = {
  401: 'The server wants an API key: give the one it was started with.',
  403: 'The server does not allow this path: check the API key and the options it was started with.',
  404: 'Nothing is served at this path: check the protocol, the address and the model name.',
  405: 'Nothing is served at this path with this method: check the protocol and the address.',
};

/** The failure that a status outside 200–299 stands for. */
export function statusFailure(
  where: string,
  reply: { status: number; location: string | undefined; body: string; retryAfterMs: number | undefined }
): RequestFailure {
  const { status, body } = reply;
  if (status >= 300 && status < 400) {
    const target = printable(reply.location ?? 'nowhere', 200);
    return new RequestFailure(where, `answered ${status} with a redirect to ${target}; redirects are not followed`, {
      type: 'GenerationFailed',
      retryable: false,
      status,
      cure: 'Give the address the server itself listens on.',
    });
  }
  const retryable = status === 429 || status >= 500;
  const cure = retryable ? undefined : REFUSAL_CURES[status];
  return new RequestFailure(
    where,
    `answered ${status}${body === '' ? ' with an empty body' : `: ${printable(body)}`}`,
    {
      type: retryable ? 'EngineUnavailable' : 'GenerationFailed',
      retryable,
      status,
      body,
      ...(reply.retryAfterMs === undefined ? {} : { retryAfterMs: reply.retryAfterMs }),
      ...(cure === undefined ? {} : { cure }),
    }
  );
}

/** A reply with status 2xx that is not what it claims to be. */
export function unusableReply(where: string, problem: string, retryable = false): RequestFailure {
  return new RequestFailure(where, `the reply is not usable: ${problem}`, { type: 'GenerationFailed', retryable });
}
