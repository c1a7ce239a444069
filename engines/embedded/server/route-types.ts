import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ComputeThread } from './compute-thread.js';
import type { ServedModel } from './served-model.js';

export interface RouteContext {
  compute: ComputeThread;
  model: ServedModel;
  mode: 'actor' | 'serve';
  engineVersion: string;
  /** Seconds since 1970. */
  startedAt: number;
  /** Generation is held by `/pause_generation`. */
  paused: boolean;
}

export type Handler = (
  context: RouteContext,
  request: IncomingMessage,
  response: ServerResponse
) => Promise<void> | void;

/** Path → method → handler. */
export type RouteTable = Readonly<Record<string, Readonly<Record<string, Handler>>>>;
