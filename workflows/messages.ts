import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import {
  DECIDE_UPDATE,
  PROGRESS_QUERY,
  type ArmProgress,
  type AttemptRecord,
  type Decision,
  type EvaluationProgress,
  type Progress,
} from '../shared/contracts/progress.js';

/** What a child workflow tells its parent: only what changed. */
export interface ChildReport {
  arm?: { name: string; progress: ArmProgress };
  evaluation?: { key: string; progress: EvaluationProgress };
  attempts?: AttemptRecord[];
}

export const progressQuery = defineQuery<Progress>(PROGRESS_QUERY);
export const decideUpdate = defineUpdate<string, [Decision]>(DECIDE_UPDATE);
export const childReportSignal = defineSignal<[ChildReport]>('childReport');
