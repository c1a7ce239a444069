import { ApplicationFailure, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { RunNotice } from '../shared/contracts/activities.js';
import { FAILURES, type FailureType } from '../shared/contracts/failures.js';
import { ABORTED, type Decision, type StageState } from '../shared/contracts/progress.js';
import { activityTaskQueue, type Role } from '../shared/contracts/queues.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { dependsOn, pausesAfter } from '../shared/contracts/stages.js';
import { DECISION_FORMS } from './check-decision.js';
import { classifyFailure, toWorkflowFailure, type Classified } from './classify-failure.js';
import { currentDetails } from './current-details.js';
import { DecisionDesk } from './decision-desk.js';
import { childReportSignal, decideUpdate, progressQuery, type ChildReport } from './messages.js';
import { Notifier } from './notifier.js';
import { ProgressState } from './progress-state.js';
import { watchQueues } from './queue-watch.js';
import { RetryLoop } from './retry-loop.js';
import { Rewind } from './rewind.js';
import { SearchAttributes } from './search-attributes.js';
import { StageResults } from './stage-results.js';

/**
 * Runs the stages of a pipeline: keeps the progress picture, watches the stage's queues, repeats activities within their
 * budgets, halts for the operator when a stage fails for good, and pauses where the recipe says so. It also answers the
 * pipeline's query, signal and update.
 */
export class StageBoard {
  readonly progress: ProgressState;
  readonly attributes = new SearchAttributes();
  readonly notifier: Notifier;
  private readonly desk: DecisionDesk;
  private readonly retry: RetryLoop;
  private readonly results = new StageResults();
  /** Set once the recipe is resolved: before that, nothing waits for a decision. */
  recipe: Recipe | undefined;
  /** Puts the files of a stage aside, so that it is made anew. */
  setAside: (stage: string) => Promise<void> = async () => undefined;

  constructor(
    pipelineId: string,
    recipeName: string,
    private readonly dataTag: string
  ) {
    this.progress = new ProgressState(pipelineId, recipeName, () => new Date().toISOString());
    this.desk = new DecisionDesk(this.progress);
    this.notifier = new Notifier((text) => {
      this.progress.warn(text);
      this.show();
    });
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
      description: `Decide about a halted or paused pipeline: ${DECISION_FORMS}.`,
    });
  }

  /** Task queue of a role: of the recipe's placement once that is known. */
  queue(role: Role): string {
    return activityTaskQueue(role, this.recipe?.placement[role] ?? this.dataTag);
  }

  /**
   * Runs one stage until it succeeds or is given up; a stage that is done answers with its result.
   *
   * @param roles whose queues the stage needs workers on
   * @param reused tells from the result whether the stage took over an earlier one
   * @throws ApplicationFailure of the failure table, the cancellation, or Rewind to an earlier stage
   */
  async stage<T>(name: string, roles: Role[], work: () => Promise<T>, reused?: (value: T) => boolean): Promise<T> {
    const queues = roles.map((role) => this.queue(role));
    while (!this.results.has(name)) {
      this.attributes.set('stage', name);
      this.progress.startStage(name);
      this.show();
      try {
        const result = await watchQueues(
          queues,
          (note) => this.noteStage(name, note),
          () => this.makeStage(name, work)
        );
        this.results.keep(name, result);
        this.endStage(name, reused?.(result) ? 'reused' : 'done');
      } catch (error) {
        await this.halt(name, error);
        continue;
      }
      await this.pause(name);
    }
    return this.results.get<T>(name);
  }

  /** One activity within the budgets of the failure table. */
  activity<T>(stage: string, activity: string, call: () => Promise<T>): Promise<T> {
    return this.retry.run({ stage, activity }, call);
  }

  /** Prepares to go through the chain again, from a stage on. */
  rewind(stage: string): void {
    this.results.forgetFrom(stage);
    this.progress.resetStages((name) => dependsOn(name, stage));
    this.retry.noteProgress();
    this.show();
  }

  show(): void {
    setCurrentDetails(currentDetails(this.progress.value));
  }

  /** Tells the webhook, if there is one. */
  notify(event: RunNotice['event'], facts: Pick<RunNotice, 'stage' | 'type' | 'message' | 'cure' | 'verdict'>): void {
    const { pipelineId, recipe, runDirectory } = this.progress.value;
    const where = runDirectory === undefined ? {} : { runDirectory };
    this.notifier.send({ event, pipelineId, recipe, at: new Date().toISOString(), ...where, ...facts });
  }

  private async makeStage<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.results.mustRemake(name)) await this.setAside(name);
    return await work();
  }

  /** Returns when the stage shall be tried again. @throws the failure, typed, when it shall not; Rewind */
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
    const { type, message, cure } = failure;
    this.notify('halted', { stage: name, type, message: message.slice(0, 1000), cure });
    const decision = await this.decided(name, () =>
      this.desk.waitHalted(name, failure, this.recipe?.limits.decisionHours ?? 1)
    );
    this.goOn(name, decision, failure);
  }

  /** Waits after a finished stage, if the recipe says so. @throws ApplicationFailure `Aborted`, Rewind, the cancellation */
  private async pause(name: string): Promise<void> {
    if (!pausesAfter(this.recipe?.pauseAfter ?? [], name)) return;
    this.notify('paused', { stage: name });
    const decision = await this.decided(name, () => this.desk.waitPaused(name));
    this.goOn(name, decision, undefined);
  }

  private goOn(name: string, decision: Decision | undefined, failure: Classified | undefined): void {
    this.show();
    if (decision?.action === 'retryFromStage') throw new Rewind(decision.stage ?? name);
    if (decision?.action === 'continue') return;
    if (decision?.action === 'retry') return this.retry.noteProgress();
    if (failure !== undefined) {
      this.endStage(name, 'failed');
      throw toWorkflowFailure(failure);
    }
    throw ApplicationFailure.nonRetryable(`ended by a decision after ${name}${noteOf(decision)}`, ABORTED);
  }

  private async decided(name: string, wait: () => Promise<Decision | undefined>): Promise<Decision | undefined> {
    try {
      const waiting = wait();
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
    if (report.note !== undefined) this.progress.noteStage(report.note.stage, report.note.text);
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

function noteOf(decision: Decision | undefined): string {
  return decision?.note === undefined ? '' : `: ${decision.note}`;
}
