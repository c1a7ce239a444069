import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  CHILD_REPORT_SIGNAL,
  DECIDE_UPDATE,
  PROGRESS_QUERY,
  type ArmProgress,
  type AttemptRecord,
  type Decision,
  type EvaluationProgress,
  type FallbackRecord,
  type Progress,
} from '../shared/contracts/progress.js';

/** What a child workflow or an activity tells the pipeline: only what changed. */
export interface ChildReport {
  arm?: { name: string; progress: ArmProgress };
  evaluation?: { key: string; progress: EvaluationProgress };
  attempts?: AttemptRecord[];
  /** The child goes on with the recipe's smaller settings. */
  fallback?: FallbackRecord;
  /** A sentence for the operator. */
  warning?: string;
  /** What a stage waits for; without text it waits no longer. */
  note?: { stage: string; text?: string };
}

export const progressQuery = defineQuery<Progress>(PROGRESS_QUERY);
export const decideUpdate = defineUpdate<string, [Decision]>(DECIDE_UPDATE);
export const childReportSignal = defineSignal<[ChildReport]>(CHILD_REPORT_SIGNAL);
