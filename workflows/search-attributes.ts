import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributeUpdatePair } from '@temporalio/common';
import { log, upsertSearchAttributes } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES } from '../shared/contracts/activities.js';
import { server } from './activity-proxies.js';

type AttributeName = keyof typeof SEARCH_ATTRIBUTES;

const KEYS = {
  stage: defineSearchAttributeKey(SEARCH_ATTRIBUTES.stage, SearchAttributeType.KEYWORD),
  recipeHash: defineSearchAttributeKey(SEARCH_ATTRIBUTES.recipeHash, SearchAttributeType.KEYWORD),
  globalStep: defineSearchAttributeKey(SEARCH_ATTRIBUTES.globalStep, SearchAttributeType.INT),
  lastFailureType: defineSearchAttributeKey(SEARCH_ATTRIBUTES.lastFailureType, SearchAttributeType.KEYWORD),
} as const;

/** Steps between updates of GlobalStep: each one is an event of the history. */
const STEP_STRIDE = 10;

/**
 * Search attributes, set only where the namespace knows them: an unknown one would fail every workflow task, and a person's
 * own server does not have them until somebody registers them.
 */
export class SearchAttributes {
  private known = new Set<string>();
  private readonly last = new Map<AttributeName, string | number>();

  async inspect(): Promise<void> {
    try {
      this.known = new Set((await server.inspectServer({})).searchAttributes);
    } catch (error) {
      log.warn('the server’s search attributes could not be read; none will be set', { error: String(error) });
    }
  }

  set(name: keyof typeof KEYS, value: string | number): void {
    if (!this.known.has(SEARCH_ATTRIBUTES[name]) || this.last.get(name) === value) return;
    if (name === 'globalStep' && Number(value) % STEP_STRIDE !== 0) return;
    this.last.set(name, value);
    upsertSearchAttributes([{ key: KEYS[name], value } as SearchAttributeUpdatePair]);
  }
}
