import { resolve } from 'node:path';
import { stringOrNull, type Get, type ProtocolContext } from './protocol.js';
import { isRecord } from './reply-checks.js';
import { unusableReply } from './request-failure.js';

/** Names kept of a server that lists many. */
const MOST_NAMES = 1000;

const MODELS = '/v1/models';

export interface ModelEntry {
  /** Name for requests. */
  id: string;
  fields: Record<string, unknown>;
  /** Every name the server lists, this entry's first. */
  names: string[];
}

/**
 * The entry of `/v1/models` that requests name: the one with the configured name or path (`root`), else the first. A configured
 * name that is not listed is sent all the same: some servers load models when they are asked for.
 *
 * @throws RequestFailure when the server lists no model
 */
export async function readModelEntry(get: Get, context: ProtocolContext): Promise<ModelEntry> {
  const document = await get(MODELS);
  const data: unknown = isRecord(document) ? document['data'] : undefined;
  const entries = (Array.isArray(data) ? data : []).filter(isRecord);
  const { model } = context;
  const named =
    entries.find((entry) => entry['id'] === model) ?? entries.find((entry) => isPathOf(entry['root'], model));
  const chosen = named ?? entries[0];
  const id = stringOrNull(chosen?.['id']);
  const names = [...new Set([...(id === null ? [] : [id]), ...listedNames(document)])];
  if (id !== null) return { id: named === undefined ? (model ?? id) : id, fields: chosen ?? {}, names };
  if (model !== undefined) return { id: model, fields: {}, names };
  throw unusableReply(context.where('GET', MODELS), 'it lists no model, and no model name was given');
}

/** Ids and aliases in a reply of `/v1/models`. */
export function listedNames(document: unknown): string[] {
  const data: unknown = isRecord(document) ? document['data'] : undefined;
  const entries = (Array.isArray(data) ? data : []).filter(isRecord);
  const names = entries.flatMap(({ id, aliases }) => [id, ...(Array.isArray(aliases) ? (aliases as unknown[]) : [])]);
  return [...new Set(names.flatMap((name) => stringOrNull(name) ?? []))].slice(0, MOST_NAMES);
}

function isPathOf(root: unknown, model: string | undefined): boolean {
  return typeof root === 'string' && model !== undefined && resolve(root) === resolve(model);
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
