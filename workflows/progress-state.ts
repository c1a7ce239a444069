import type { FailureType } from '../shared/contracts/failures.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type {
  AttemptRecord,
  FallbackRecord,
  HaltState,
  PauseState,
  PipelineState,
  Progress,
  StageProgress,
  StageState,
} from '../shared/contracts/progress.js';
import type { ChildReport } from './messages.js';

/** Attempts listed in progress; older ones are only counted. */
const LISTED_ATTEMPTS = 50;
const LISTED_WARNINGS = 5;

/** The pipeline's picture of itself: what the query `progress` answers. Times come from the workflow's clock. */
export class ProgressState {
  readonly value: Progress;

  constructor(
    pipelineId: string,
    recipeName: string,
    private readonly now: () => string
  ) {
    const startedAt = now();
    this.value = {
      pipelineId,
      recipe: recipeName,
      state: 'running',
      startedAt,
      updatedAt: startedAt,
      stages: [],
      arms: {},
      evaluations: {},
      attempts: [],
      failedAttempts: 0,
      artifacts: [],
    };
  }

  declareStage(name: string, queue: string): void {
    if (this.value.stages.some((stage) => stage.name === name)) return;
    this.value.stages.push({ name, queue, state: 'pending', retries: 0 });
  }

  stage(name: string): StageProgress {
    const found = this.value.stages.find((stage) => stage.name === name);
    if (found === undefined) throw new Error(`stage ${name} was not declared`);
    return found;
  }

  startStage(name: string): void {
    const stage = this.stage(name);
    stage.state = 'running';
    stage.startedAt ??= this.now();
    delete stage.finishedAt;
    this.touch();
  }

  endStage(name: string, state: StageState): void {
    const stage = this.stage(name);
    stage.state = state;
    stage.finishedAt = this.now();
    delete stage.note;
    this.touch();
  }

  /** Sets or clears the sentence beside a stage. */
  noteStage(name: string, note: string | undefined): void {
    const stage = this.stage(name);
    if (note === undefined) delete stage.note;
    else stage.note = note;
    this.touch();
  }

  setState(state: PipelineState): void {
    this.value.state = state;
    if (state === 'completed' || state === 'failed' || state === 'cancelled') this.value.finishedAt = this.now();
    this.touch();
  }

  setPause(pause: PauseState | undefined): void {
    if (pause === undefined) delete this.value.pause;
    else this.value.pause = pause;
    this.touch();
  }

  /** Something the operator should know that changes nothing in the run; the latest few are kept. */
  warn(text: string): void {
    this.value.warnings = [...(this.value.warnings ?? []), text].slice(-LISTED_WARNINGS);
    this.touch();
  }

  addFallback(record: FallbackRecord): void {
    this.value.fallbacks = [...(this.value.fallbacks ?? []), record];
    this.touch();
  }

  /** Stages that run again after a decision. */
  resetStages(which: (stage: string) => boolean): void {
    for (const stage of this.value.stages) {
      if (!which(stage.name)) continue;
      stage.state = 'pending';
      delete stage.finishedAt;
      delete stage.note;
    }
    this.touch();
  }

  setHalt(halt: HaltState | undefined): void {
    if (halt === undefined) delete this.value.halt;
    else this.value.halt = halt;
    this.touch();
  }

  /** A stage that ran again replaces what it had made. */
  addArtifacts(...artifacts: ArtifactRef[]): void {
    const paths = new Set(artifacts.map(({ path }) => path));
    this.value.artifacts = [...this.value.artifacts.filter(({ path }) => !paths.has(path)), ...artifacts];
    this.touch();
  }

  addAttempt(record: AttemptRecord): void {
    this.value.attempts.push(record);
    if (this.value.attempts.length > LISTED_ATTEMPTS) this.value.attempts.shift();
    this.value.failedAttempts += 1;
    const stage = this.value.stages.find((candidate) => candidate.name === record.stage);
    if (stage !== undefined) {
      stage.retries += 1;
      stage.secondsLost = Math.round(10 * ((stage.secondsLost ?? 0) + (record.secondsLost ?? 0))) / 10;
    }
    this.touch();
  }

  /** Takes over what a child workflow reported. */
  apply(report: ChildReport): void {
    if (report.arm !== undefined) this.value.arms[report.arm.name] = report.arm.progress;
    if (report.evaluation !== undefined) this.value.evaluations[report.evaluation.key] = report.evaluation.progress;
    for (const attempt of report.attempts ?? []) this.addAttempt(attempt);
    if (report.fallback !== undefined) this.addFallback(report.fallback);
    if (report.warning !== undefined) this.warn(report.warning);
    this.estimate();
    this.touch();
  }

  get lastFailureType(): FailureType | string | undefined {
    return this.value.attempts.at(-1)?.type;
  }

  /** Steps left of the slowest arm times its seconds a step; evaluation and report are not in it. */
  private estimate(): void {
    const left = Object.values(this.value.arms)
      .filter((arm) => arm.secondsPerStep !== undefined)
      .map((arm) => (arm.totalSteps - arm.step) * (arm.secondsPerStep ?? 0));
    if (left.length > 0) this.value.etaSeconds = Math.round(Math.max(...left));
  }

  private touch(): void {
    this.value.updatedAt = this.now();
  }
}
