import { onAbort } from './on-abort.js';
import { RequestFailure } from './request-failure.js';
import type { RetryOptions } from './types.js';

/** Longest `Retry-After` that is waited for; a server that asks for more is down for our purposes. */
const MAX_RETRY_AFTER_MS = 300_000;

export interface RetryPolicy {
  attempts: number;
  baseDelayMs: number;
  maxDelayMs: number;
  random: () => number;
}

/** Defaults: 6 attempts, 250 ms doubling up to 15 s: about 8 seconds of patience, enough for an engine to be started again. */
export function retryPolicy(options: RetryOptions = {}): RetryPolicy {
  const policy = {
    attempts: options.attempts ?? 6,
    baseDelayMs: options.baseDelayMs ?? 250,
    maxDelayMs: options.maxDelayMs ?? 15_000,
    random: options.random ?? Math.random,
  };
  if (!Number.isSafeInteger(policy.attempts) || policy.attempts < 1)
    throw new RangeError(`retry attempts must be an integer ≥ 1, got ${policy.attempts}`);
  return policy;
}

/**
 * Wait before attempt `failed + 1`: exponential with equal jitter (half fixed, half random), at least what the server asked
 * for. With `Retry-After` the jitter comes on top, so that clients that were refused together do not come back together.
 */
export function retryDelayMs(policy: RetryPolicy, failed: number, retryAfterMs?: number): number {
  const step = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (failed - 1));
  const jittered = step * (0.5 + 0.5 * policy.random());
  return retryAfterMs === undefined ? jittered : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) + jittered / 2;
}

/**
 * Value of a `Retry-After` header in milliseconds: whole seconds or an HTTP date (RFC 9110, 10.2.3).
 *
 * @returns undefined when there is none or it is neither
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Resolves after a time, or rejects with the signal's reason. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const forget = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    });
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, milliseconds);
  });
}

/**
 * Repeats an operation while it fails with a retryable `RequestFailure` and attempts are left.
 *
 * @throws PipelineError made from the last failure; anything else (an aborted signal, a bug) unchanged
 */
export async function withRetry<T>(operation: () => Promise<T>, policy: RetryPolicy, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      if (!error.facts.retryable || attempt >= policy.attempts) throw error.toPipelineError(attempt);
      await delay(retryDelayMs(policy, attempt, error.facts.retryAfterMs), signal);
    }
  }
}
