import type { Get, ProtocolContext } from './protocol.js';
import { isRecord } from './reply-checks.js';
import { unusableReply } from './request-failure.js';

const MODELS = '/v1/models';

export interface ModelEntry {
  id: string;
  fields: Record<string, unknown>;
}

/**
 * The entry of `/v1/models` that requests name: the one with the configured name, else the first.
 *
 * @throws RequestFailure when the server lists no model
 */
export async function readModelEntry(get: Get, context: ProtocolContext): Promise<ModelEntry> {
  const document = await get(MODELS);
  const data: unknown = isRecord(document) ? document['data'] : undefined;
  const entries = (Array.isArray(data) ? data : []).filter(isRecord);
  const chosen = entries.find((entry) => entry['id'] === context.model) ?? entries[0];
  const id = chosen?.['id'];
  if (typeof id === 'string') return { id: context.model ?? id, fields: chosen ?? {} };
  if (context.model !== undefined) return { id: context.model, fields: {} };
  throw unusableReply(context.where('GET', MODELS), 'it lists no model, and no model name was given');
}

/** The model name to send: the configured one, else asked of the server once, also when many requests need it at the same time. */
export function modelName(context: ProtocolContext): (get: Get) => Promise<string> {
  let asked: Promise<string> | undefined;
  return (get) => {
    if (context.model !== undefined) return Promise.resolve(context.model);
    asked ??= readModelEntry(get, context).then(
      (entry) => entry.id,
      (error: unknown) => {
        // The next request asks again.
        asked = undefined;
        throw error;
      }
    );
    return asked;
  };
}
