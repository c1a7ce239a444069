import type { Dispatcher } from 'undici';
import type { RetryOptions } from '../../inference/types.js';

export interface HubPorts {
  /** `HF_TOKEN`, `HF_ENDPOINT`, `MEMAGENT_HOME`. Default: the process's environment. */
  env?: Record<string, string | undefined>;
  signal?: AbortSignal;
  retry?: RetryOptions;
}

export interface HubRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

export interface HubReply {
  status: number;
  headers: Record<string, string>;
  body: Dispatcher.ResponseData['body'];
  /** Whether the hub itself answered, not a host it redirected to. */
  fromHub: boolean;
  /** Commit the hub says it served (`X-Repo-Commit`), also when it redirected. */
  commit?: string;
}

/** What a message about a hub needs to know of it. */
export interface HubAccess {
  endpoint: string;
  hasToken: boolean;
}
