import { ApplicationFailure } from '@temporalio/activity';
import { request } from 'undici';
import type { NotifyArgs } from '../shared/contracts/activities.js';
import type { ActivityScope } from './scope.js';

/** A webhook that does not answer within this time is tried again. Unit: milliseconds. */
const ANSWER_MS = 5_000;

/** Answers that another try may turn into a success. */
const WORTH_REPEATING = new Set([408, 425, 429]);

/**
 * Posts a notice to the recipe's webhook. Names only the webhook's host in errors: path and query may be secret, as the
 * header's value is.
 *
 * @throws ApplicationFailure `WebhookFailed`; not retried when the same call would fail again
 */
export async function notify({ settings, notice }: NotifyArgs, scope: ActivityScope): Promise<void> {
  const { host } = new URL(settings.webhook);
  const status = await post(settings, JSON.stringify(notice), scope.signal, host);
  if (status >= 200 && status < 300) return;
  const nonRetryable = status < 500 && !WORTH_REPEATING.has(status);
  throw failed(`${host} answered ${status}`, nonRetryable);
}

async function post(
  settings: NotifyArgs['settings'],
  body: string,
  signal: AbortSignal,
  host: string
): Promise<number> {
  const headers = { 'content-type': 'application/json', ...secretHeader(settings) };
  try {
    const reply = await request(settings.webhook, {
      method: 'POST',
      headers,
      body,
      signal,
      headersTimeout: ANSWER_MS,
      bodyTimeout: ANSWER_MS,
    });
    // The answer's text is of no use; a long one is not read to its end.
    await reply.body.dump({ limit: 64 * 1024, signal });
    return reply.statusCode;
  } catch (error) {
    signal.throwIfAborted();
    const { code, name } = error as NodeJS.ErrnoException;
    throw failed(`${host} did not answer (${code ?? name})`, false);
  }
}

function secretHeader({ header, secretEnv }: NotifyArgs['settings']): Record<string, string> {
  if (secretEnv === undefined) return {};
  const value = process.env[secretEnv];
  if (value === undefined || value === '')
    throw failed(
      `the environment variable ${secretEnv} of the workflow worker, which notify.secretEnv names, is not set`,
      true
    );
  return { [header]: value };
}

function failed(message: string, nonRetryable: boolean): ApplicationFailure {
  return ApplicationFailure.create({ type: 'WebhookFailed', message, nonRetryable });
}
