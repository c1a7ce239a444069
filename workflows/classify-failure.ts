import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  isCancellation,
  ServerFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/workflow';
import { WORKER_SHUTDOWN } from '../shared/contracts/activities.js';
import { FAILURES, isFailureType, type FailureDetails, type FailureType } from '../shared/contracts/failures.js';

/** A failure in the terms of the failure table. */
export interface Classified {
  kind: 'failure' | 'cancelled' | 'shutdown';
  type: FailureType;
  message: string;
  cure: string;
  problems: string[];
  /** What the activity was doing, and where; as far as it got to say so. */
  phase?: string;
  host?: string;
  /** The training job whose end it tells. */
  jobEnd?: string;
}

/** Deepest cause of an activity or child workflow failure: what the other side really threw. */
function rootOf(error: unknown): unknown {
  let current = error;
  while (
    (current instanceof ActivityFailure || current instanceof ChildWorkflowFailure) &&
    current.cause !== undefined
  ) {
    current = current.cause;
  }
  return current;
}

function failure(type: FailureType, message: string, details?: FailureDetails): Classified {
  return {
    kind: 'failure',
    type,
    message,
    cure: details?.cure ?? FAILURES[type].cure,
    problems: details?.problems ?? [],
    ...whereabouts(details),
    ...(typeof details?.jobEnd === 'string' ? { jobEnd: details.jobEnd } : {}),
  };
}

/** Phase and host from failure details or heartbeat details; both come from outside this code. */
function whereabouts(details: unknown): Pick<Classified, 'phase' | 'host'> {
  const { phase, host } = (typeof details === 'object' && details !== null ? details : {}) as Record<string, unknown>;
  return {
    ...(typeof phase === 'string' ? { phase: phase.slice(0, 40) } : {}),
    ...(typeof host === 'string' ? { host: host.slice(0, 80) } : {}),
  };
}

/** Host in the identity `pid@host` of the worker that took the activity. */
function hostOf(error: unknown): Pick<Classified, 'host'> {
  const identity = error instanceof ActivityFailure ? error.identity : undefined;
  const at = identity?.indexOf('@') ?? -1;
  return identity === undefined || at < 0 ? {} : { host: identity.slice(at + 1, at + 81) };
}

/**
 * Sorts an error into the failure table. The class of an error never crosses the server; its `type` string does.
 * A heartbeat time-out means the worker's host is gone; a start-to-close time-out means it works but does not get on.
 */
export function classifyFailure(error: unknown): Classified {
  return { ...hostOf(error), ...classify(error) };
}

function classify(error: unknown): Classified {
  if (isCancellation(error)) {
    return { ...failure('HostLost', 'cancelled'), kind: 'cancelled' };
  }
  const root = rootOf(error);
  if (root instanceof TimeoutFailure) {
    const stalled = root.timeoutType === 'START_TO_CLOSE';
    return {
      ...failure(stalled ? 'Stalled' : 'HostLost', `activity timed out (${root.timeoutType})`),
      ...whereabouts(root.lastHeartbeatDetails),
    };
  }
  if (root instanceof ApplicationFailure) {
    const details = root.details?.[0] as FailureDetails | undefined;
    if (root.type === WORKER_SHUTDOWN) return { ...failure('HostLost', root.message, details), kind: 'shutdown' };
    if (isFailureType(root.type)) return failure(root.type, root.message, details);
    return failure('EngineUnavailable', `unexpected ${root.type ?? 'error'}: ${root.message}`, details);
  }
  if (root instanceof ServerFailure || root instanceof TerminatedFailure) return failure('HostLost', root.message);
  return failure('EngineUnavailable', root instanceof Error ? root.message : String(root));
}

/** The only form in which our workflows fail: type of the table, not retried by the server. */
export function toWorkflowFailure(classified: Classified): ApplicationFailure {
  const details: FailureDetails = { cure: classified.cure, problems: classified.problems.slice(0, 20) };
  return ApplicationFailure.create({
    type: classified.type,
    message: classified.message.slice(0, 4096),
    nonRetryable: true,
    details: [details],
  });
}
