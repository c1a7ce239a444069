import { setCurrentDetails, setHandler } from '@temporalio/workflow';
import { FAILURES, type FailureType } from '../shared/contracts/failures.js';
import type { Decision, StageState } from '../shared/contracts/progress.js';
import { activityTaskQueue, type Role } from '../shared/contracts/queues.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { classifyFailure, toWorkflowFailure, type Classified } from './classify-failure.js';
import { currentDetails } from './current-details.js';
import { HaltDesk } from './halt.js';
import { childReportSignal, decideUpdate, progressQuery, type ChildReport } from './messages.js';
import { ProgressState } from './progress-state.js';
import { watchQueues } from './queue-watch.js';
import { RetryLoop } from './retry-loop.js';
import { SearchAttributes } from './search-attributes.js';

/**
 * Runs the stages of a pipeline: keeps the progress picture, watches the stage's queues, repeats activities within their
 * budgets, and halts for the operator when a stage fails for good. It also answers the pipeline's query, signal and update.
 */
export class StageBoard {
  readonly progress: ProgressState;
  readonly attributes = new SearchAttributes();
  private readonly desk: HaltDesk;
  private readonly retry: RetryLoop;
  /** Set once the recipe is resolved: before that, nothing waits for a decision. */
  recipe: Recipe | undefined;

  constructor(
    pipelineId: string,
    recipeName: string,
    private readonly dataTag: string
  ) {
    this.progress = new ProgressState(pipelineId, recipeName, () => new Date().toISOString());
    this.desk = new HaltDesk(this.progress);
    this.retry = new RetryLoop((record) => {
      this.progress.addAttempt(record);
      this.show();
    });
    this.listen();
  }

  private listen(): void {
    setHandler(progressQuery, () => this.progress.value, {
      description: 'Stages, steps, rewards, counts, attempts and artifacts.',
    });
    setHandler(childReportSignal, (report) => this.take(report));
    setHandler(decideUpdate, (decision: Decision) => this.desk.decide(decision), {
      validator: (decision: Decision) => this.desk.validate(decision),
      description: 'Decide about a halted pipeline: {"action": "retry" | "abort", "note"?}.',
    });
  }

  /** Task queue of a role: of the recipe's placement once that is known. */
  queue(role: Role): string {
    return activityTaskQueue(role, this.recipe?.placement[role] ?? this.dataTag);
  }

  /**
   * Runs one stage until it succeeds or is given up.
   *
   * @param roles whose queues the stage needs workers on
   * @param reused tells from the result whether the stage took over an earlier one
   * @throws ApplicationFailure of the failure table, or the cancellation
   */
  async stage<T>(name: string, roles: Role[], work: () => Promise<T>, reused?: (value: T) => boolean): Promise<T> {
    const queues = roles.map((role) => this.queue(role));
    for (;;) {
      this.attributes.set('stage', name);
      this.progress.startStage(name);
      this.show();
      try {
        const result = await watchQueues(queues, (note) => this.noteStage(name, note), work);
        this.endStage(name, reused?.(result) ? 'reused' : 'done');
        return result;
      } catch (error) {
        await this.halt(name, error);
      }
    }
  }

  /** One activity within the budgets of the failure table. */
  activity<T>(stage: string, activity: string, call: () => Promise<T>): Promise<T> {
    return this.retry.run({ stage, activity }, call);
  }

  show(): void {
    setCurrentDetails(currentDetails(this.progress.value));
  }

  /** Returns when the stage shall be tried again. @throws the failure, typed, when it shall not */
  private async halt(name: string, error: unknown): Promise<void> {
    const failure = classifyFailure(error);
    if (failure.kind === 'cancelled') {
      this.endStage(name, 'cancelled');
      throw error;
    }
    this.attributes.set('lastFailureType', failure.type);
    const waits = this.recipe?.onHalt === 'wait' && halts(failure.type);
    this.endStage(name, waits ? 'halted' : 'failed');
    if (!waits) throw toWorkflowFailure(failure);
    const decision = await this.waitForDecision(name, failure);
    if (decision?.action !== 'retry') {
      this.endStage(name, 'failed');
      throw toWorkflowFailure(failure);
    }
    this.retry.noteProgress();
    this.progress.setState('running');
  }

  private async waitForDecision(name: string, failure: Classified): Promise<Decision | undefined> {
    try {
      const waiting = this.desk.wait(name, failure, this.recipe?.limits.decisionHours ?? 1);
      this.show();
      return await waiting;
    } catch (error) {
      this.endStage(name, 'cancelled');
      throw error;
    }
  }

  private endStage(name: string, state: StageState): void {
    this.progress.endStage(name, state);
    this.show();
  }

  private noteStage(name: string, note: string | undefined): void {
    this.progress.noteStage(name, note);
    this.show();
  }

  private take(report: ChildReport): void {
    this.progress.apply(report);
    const arm = report.arm;
    if (arm !== undefined && arm.progress.phase === 'train') this.attributes.set('globalStep', arm.progress.step);
    const last = this.progress.lastFailureType;
    if (report.attempts !== undefined && last !== undefined) this.attributes.set('lastFailureType', last);
    this.show();
  }
}

function halts(type: FailureType): boolean {
  return FAILURES[type].afterwards === 'halt';
}
