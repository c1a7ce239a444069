import { nearestName } from '../shared/contracts/nearest-name.js';
import { DECISIONS, type Decision, type Progress } from '../shared/contracts/progress.js';
import { dependsOn } from '../shared/contracts/stages.js';
import type { Waiter } from './decision-desk.js';

const LONGEST_NOTE = 2000;

/** The forms of a decision, as they are written. */
export const DECISION_FORMS =
  '{"action": "retry" | "continue" | "abort", "note"?: string} or {"action": "retryFromStage", "stage": string, "note"?: string}';

/**
 * Checks a decision against what waits for one. Anything may come from outside: the type is only what it should be.
 *
 * @throws Error with the reason and what could be decided instead
 */
export function checkDecision(decision: Decision, waiters: readonly Waiter[], progress: Progress): void {
  checkForm(decision);
  if (waiters.length === 0) throw new Error(`nothing waits for a decision: the pipeline is ${progress.state}`);
  if (decision.action === 'retry' && !waiters.some(({ kind }) => kind === 'halt'))
    throw new Error(
      `nothing has failed: the pipeline is paused after ${list(waiters)}; decide continue, retryFromStage or abort`
    );
  if (decision.action === 'continue' && !waiters.some(({ kind }) => kind === 'pause'))
    throw new Error(`${list(waiters)} has failed and cannot be passed over; decide retry, retryFromStage or abort`);
  if (decision.action === 'retryFromStage') checkStage(decision.stage ?? '', waiters, progress);
}

function checkForm(decision: unknown): asserts decision is Decision {
  const { action, stage, note } = (typeof decision === 'object' && decision !== null ? decision : {}) as Partial<
    Record<keyof Decision, unknown>
  >;
  if (!(DECISIONS as readonly unknown[]).includes(action)) throw new Error(`a decision is ${DECISION_FORMS}`);
  if (note !== undefined && (typeof note !== 'string' || note.length > LONGEST_NOTE))
    throw new Error(`the note of a decision is a text of at most ${LONGEST_NOTE} characters`);
  if (action === 'retryFromStage' && typeof stage !== 'string')
    throw new Error('retryFromStage needs the name of the stage to begin at, e.g. "stage": "train:relax"');
  if (action !== 'retryFromStage' && stage !== undefined)
    throw new Error(`a stage is named only with retryFromStage, not with ${String(action)}`);
}

function checkStage(stage: string, waiters: readonly Waiter[], progress: Progress): void {
  const names = progress.stages.map(({ name }) => name);
  if (!names.includes(stage)) {
    const near = nearestName(stage, names);
    throw new Error(
      `there is no stage ${JSON.stringify(stage.slice(0, 80))}: ${near === undefined ? `stages are ${names.join(', ')}` : `did you mean ${near}?`}`
    );
  }
  if (stage === 'resolve') throw new Error('the recipe of a run does not change: start another run instead');
  if (!waiters.some((waiter) => dependsOn(waiter.stage, stage)))
    throw new Error(`${stage} does not come before ${list(waiters)}, which waits for the decision`);
}

function list(waiters: readonly Waiter[]): string {
  return waiters.map(({ stage }) => stage).join(' and ');
}
