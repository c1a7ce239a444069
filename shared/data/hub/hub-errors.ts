import { PipelineError } from '../../contracts/pipeline-error.js';
import { parseRetryAfter } from '../../inference/retry.js';
import type { HubAccess, HubReply } from './hub-types.js';

/** A refusal that may be over by the next try. */
export class TransientHubError extends PipelineError {
  constructor(
    message: string,
    readonly retryAfterMs: number | undefined
  ) {
    super('EngineUnavailable', message);
  }
}

export function isTransient(error: unknown): error is TransientHubError {
  return error instanceof TransientHubError;
}

/** Characters of a server's text that are shown. */
const SHOWN = 200;

/**
 * What a status of the hub means for the person who wrote the recipe.
 *
 * @param text the reply's body
 * @param what what was asked for, e.g. `data/train.parquet of dataset owner/name at 27275ff4…`
 */
export function refusal(reply: HubReply, text: string, what: string, client: HubAccess): PipelineError {
  const { status, headers } = reply;
  if (status === 429 || status >= 500) {
    return new TransientHubError(
      `the hub answered ${status} for ${what}`,
      parseRetryAfter(headers['retry-after'], Date.now())
    );
  }
  // A link to the content network is valid for minutes only: ask the hub for a new one.
  if (!reply.fromHub) return new TransientHubError(`the content host answered ${status} for ${what}`, undefined);
  const [type, cure] = cureOf(status, headers['x-error-code'] ?? '', client);
  const said = headers['x-error-message'] ?? text.slice(0, SHOWN).replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return new PipelineError(type, `${what}: ${client.endpoint} answered ${status} (${said.slice(0, SHOWN)}). ${cure}`, {
    where: client.endpoint,
    cure,
  });
}

function cureOf(status: number, code: string, client: HubAccess): ['DataInvalid' | 'PinMismatch', string] {
  if (code === 'RevisionNotFound') {
    return ['PinMismatch', 'There is no such commit: correct "revision" in the recipe (40 hexadecimal digits)'];
  }
  if (code === 'EntryNotFound') return ['DataInvalid', 'There is no such file at this revision: correct the file name'];
  if (code === 'GatedRepo' || status === 403) {
    return [
      'DataInvalid',
      'Accept the terms on its page with your account, and set HF_TOKEN to a token that may read it',
    ];
  }
  if (status === 401 || code === 'RepoNotFound') {
    const token = client.hasToken
      ? 'The token in HF_TOKEN is wrong or may not read it'
      : 'If it is private or gated, set HF_TOKEN';
    return ['DataInvalid', `${token}; otherwise correct its name`];
  }
  return ['DataInvalid', 'Correct the name and revision in the recipe'];
}
