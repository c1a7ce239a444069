import { getExternalWorkflowHandle, log, workflowInfo } from '@temporalio/workflow';
import type { AttemptRecord, FallbackRecord } from '../shared/contracts/progress.js';
import { childReportSignal, type ChildReport } from './messages.js';

/** Attempts sent with one report; a longer backlog keeps its newest. */
const ATTEMPTS_PER_REPORT = 10;

/**
 * Sends progress from a child workflow to its parent by signal. A parent that is gone is not an error of the child: its own
 * close policy decides what happens to the child.
 */
export class ParentReporter {
  private readonly parentId = workflowInfo().parent?.workflowId;
  private backlog: AttemptRecord[] = [];
  private fallbackUsed: FallbackRecord | undefined;

  attempt(record: AttemptRecord): void {
    this.backlog.push(record);
  }

  fallback(record: FallbackRecord): void {
    this.fallbackUsed = record;
  }

  get hasAttempts(): boolean {
    return this.backlog.length > 0;
  }

  async send(report: Omit<ChildReport, 'attempts' | 'fallback'>): Promise<void> {
    const attempts = this.backlog.slice(-ATTEMPTS_PER_REPORT);
    const fallback = this.fallbackUsed;
    this.backlog = [];
    this.fallbackUsed = undefined;
    if (this.parentId === undefined) return;
    const full: ChildReport = {
      ...report,
      ...(attempts.length > 0 ? { attempts } : {}),
      ...(fallback === undefined ? {} : { fallback }),
    };
    try {
      await getExternalWorkflowHandle(this.parentId).signal(childReportSignal, full);
    } catch (error) {
      log.warn('the parent workflow did not take a progress report', { error: String(error) });
    }
  }
}
