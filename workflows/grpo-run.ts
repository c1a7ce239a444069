import { CancellationScope, continueAsNew, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { ArmHandle, CloseArmResult, HeardEnds, StepHandle } from '../shared/contracts/activities.js';
import type { ArmProgress } from '../shared/contracts/progress.js';
import type { Placement } from '../shared/contracts/queues.js';
import { proxiesFor, type Limits, type Proxies } from './activity-proxies.js';
import { followJob, jobProgress, stepStride } from './follow-job.js';
import { fallbackRecord, type OomFallback } from './oom-fallback.js';
import { ParentReporter } from './parent-reporter.js';
import { RetryLoop, type CallMeta } from './retry-loop.js';
import { stepProgress } from './step-progress.js';
import { stopEngine } from './stop-engine.js';
import { round, thin } from './thin.js';
import { checkLedger } from './turn-ledger.js';
import { UnheardEnds } from './unheard-ends.js';

/** Reward points carried in progress and across continue-as-new; the full series is in the artifacts. */
const PROGRESS_POINTS = 120;

export interface GrpoRunArgs extends ArmHandle {
  totalSteps: number;
  checkpointEvery: number;
  placement: Placement;
  limits: Limits;
  /** Smaller settings for after OutOfMemory. */
  oomFallback?: OomFallback;
  /** The arm is trained by jobs that run by themselves, instead of step by step. */
  engine?: 'ray';
  /** Carried into the next workflow run; see {@link UnheardEnds}. */
  ends?: HeardEnds;
}

/** The closed arm's facts. */
export interface GrpoRunResult extends CloseArmResult {
  /** The whole run was taken over from an equal one. */
  reused?: true;
}

/**
 * One training run of one arm, step by step (architecture.md, "One GRPO step"): generate → convert → train → ledger →
 * checkpoint at the interval. Everything is keyed by the step, so a repeated activity finds its earlier result; the run can
 * be started again at any time and goes on where the disk says it is.
 *
 * @returns the closed arm's facts
 * @throws ApplicationFailure of the failure table
 */
export async function grpoRun(args: GrpoRunArgs): Promise<GrpoRunResult> {
  const run = new GrpoRun(args);
  try {
    return await run.execute();
  } finally {
    await run.reportAttempts();
  }
}

class GrpoRun {
  private readonly proxies: Proxies;
  private readonly reporter = new ParentReporter();
  private readonly retry = new RetryLoop(
    (record) => this.reporter.attempt(record),
    (stage) => this.useFallback(stage),
    // An operator should see the first failure when it happens, not when the budget is used up.
    () => this.reportAttempts()
  );
  private handle: ArmHandle;
  private readonly ends: UnheardEnds;
  private readonly progress: ArmProgress;
  private rewards: number[] = [];
  private handedOn = false;
  private failed = false;

  constructor(private readonly args: GrpoRunArgs) {
    this.proxies = proxiesFor(args.placement, args.limits);
    this.handle = { run: args.run, arm: args.arm, phase: args.phase };
    this.ends = new UnheardEnds(args.ends);
    this.progress = { phase: args.phase, step: 0, totalSteps: args.totalSteps, rewards: [], weightsVersion: 0 };
  }

  async execute(): Promise<GrpoRunResult> {
    const { totalSteps } = this.args;
    const opened = await this.call('openArm', undefined, (summary) =>
      this.proxies.data.openArm.executeWithOptions({ summary }, [{ ...this.handle, totalSteps }])
    );
    this.rewards = opened.rewards;
    if (opened.finished !== undefined) return await this.reuse(opened.finished);
    try {
      if (this.args.engine === 'ray') await this.followJob(opened.nextStep);
      else await this.makeSteps(opened.nextStep);
      return await this.call('closeArm', undefined, (summary) =>
        this.proxies.data.closeArm.executeWithOptions({ summary }, [{ ...this.handle, totalSteps }])
      );
    } catch (error) {
      this.failed = !isCancellation(error);
      throw error;
    } finally {
      if (!this.handedOn) await this.stopEngine();
    }
  }

  private async makeSteps(first: number): Promise<void> {
    for (let step = first, done = 0; step < this.args.totalSteps; step += 1, done += 1) {
      await this.handOnIfDue(done);
      await this.step(step);
    }
  }

  /** Goes on in a new workflow run, before the history gets long. */
  private async handOnIfDue(done: number): Promise<void> {
    if (done < this.args.limits.continueAsNewEvery && !workflowInfo().continueAsNewSuggested) return;
    this.handedOn = true;
    await this.reportAttempts();
    await continueAsNew<typeof grpoRun>({
      ...this.args,
      run: this.handle.run,
      ...(this.args.engine === 'ray' ? { ends: this.ends.state } : {}),
    });
  }

  private async followJob(knownSteps: number): Promise<void> {
    const { totalSteps, phase, arm } = this.args;
    const stage = `${phase}:${arm}`;
    await this.call('preflight', undefined, (summary) =>
      this.proxies.job.preflight.executeWithOptions({ summary }, [this.handle])
    );
    let since = Date.now();
    await followJob({
      totalSteps,
      knownSteps,
      beforeSlice: (done) => this.handOnIfDue(done),
      slice: (bounds) =>
        this.call('runTrainingJob', bounds.fromStep, (summary) =>
          this.ends.ask((ends) =>
            this.proxies.job.runTrainingJob.executeWithOptions({ summary }, [
              { ...this.handle, totalSteps, ...bounds, ...ends },
            ])
          )
        ),
      onWaiting: (who) =>
        this.reporter.send({
          note: { stage, ...(who === undefined ? {} : { text: `waits for the cluster: ${who}` }) },
        }),
      onProgress: async (result) => {
        if (result.steps > this.rewards.length) this.retry.noteProgress();
        const seconds = (Date.now() - since) / 1000 / Math.max(1, result.steps - this.rewards.length);
        since = Date.now();
        this.rewards = [...this.rewards.slice(0, result.rewardsFrom), ...result.rewards];
        const rewards = thin(this.rewards, PROGRESS_POINTS);
        Object.assign(this.progress, { rewards, secondsPerStep: round(seconds, 2), ...jobProgress(result) });
        await this.report();
      },
    });
  }

  private async step(step: number): Promise<void> {
    const startedAt = Date.now();
    // Read at each call: after OutOfMemory the handle asks for smaller settings.
    const handle = (): StepHandle => ({ ...this.handle, step });
    const generated = await this.call('generateRollouts', step, (summary) =>
      this.proxies.rollout.generateRollouts.executeWithOptions({ summary }, [handle()])
    );
    const converted = await this.call('convertRollouts', step, (summary) =>
      this.proxies.data.convertRollouts.executeWithOptions({ summary }, [
        { ...handle(), trajectories: generated.trajectories },
      ])
    );
    const trained = await this.call('trainStep', step, (summary) =>
      this.proxies.train.trainStep.executeWithOptions({ summary }, [{ ...handle(), rows: converted.rows }])
    );
    const results = { generated, converted, trained };
    checkLedger(this.args.arm, step, results);
    this.retry.noteProgress();
    if (this.isCheckpointStep(step)) {
      await this.call('saveCheckpoint', step, (summary) =>
        this.proxies.train.saveCheckpoint.executeWithOptions({ summary }, [handle()])
      );
      this.progress.lastCheckpointStep = step;
    }
    this.rewards.push(round(generated.meanReward, 6));
    const rewards = thin(this.rewards, PROGRESS_POINTS);
    Object.assign(this.progress, { rewards, ...stepProgress(step, results, (Date.now() - startedAt) / 1000) });
    if (this.shouldReport(step)) await this.report();
  }

  /** Goes on with the recipe's smaller settings, once. */
  private useFallback(stage: string): boolean {
    const record = fallbackRecord(this.args.oomFallback, ['rolloutConcurrency', 'tokensPerGpu'], stage);
    if (record === undefined || this.handle.run.fallback === true) return false;
    this.handle = { ...this.handle, run: { ...this.handle.run, fallback: true } };
    this.reporter.fallback(record);
    return true;
  }

  private isCheckpointStep(step: number): boolean {
    return (step + 1) % this.args.checkpointEvery === 0 || step + 1 === this.args.totalSteps;
  }

  /** Each step in a short run, about a hundred reports in a long one: the parent's history stays small. */
  private shouldReport(step: number): boolean {
    return (
      (step + 1) % stepStride(this.args.totalSteps) === 0 ||
      step + 1 === this.args.totalSteps ||
      this.reporter.hasAttempts
    );
  }

  private async report(): Promise<void> {
    await this.reporter.send({ arm: { name: this.args.arm, progress: this.progress } });
  }

  async reportAttempts(): Promise<void> {
    if (!this.reporter.hasAttempts) return;
    await CancellationScope.nonCancellable(() => this.reporter.send({}));
  }

  private async reuse(finished: CloseArmResult): Promise<GrpoRunResult> {
    this.progress.step = finished.steps;
    this.progress.weightsVersion = finished.steps;
    this.progress.rewards = thin(finished.rewards, PROGRESS_POINTS);
    await this.report();
    return { ...finished, reused: true };
  }

  private async stopEngine(): Promise<void> {
    const how = { isJob: this.args.engine === 'ray', failed: this.failed };
    await stopEngine(this.proxies.train, this.handle, how);
  }

  private call<T>(activity: string, step: number | undefined, run: (summary: string) => Promise<T>): Promise<T> {
    const stage = `${this.args.phase}:${this.args.arm}`;
    const meta: CallMeta = step === undefined ? { stage, activity } : { stage, activity, step };
    return this.retry.run(meta, () => run(step === undefined ? stage : `${stage} step ${step}`));
  }
}
