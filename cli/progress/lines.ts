import type {
  ArmProgress,
  AttemptRecord,
  EvaluationProgress,
  FallbackRecord,
  Progress,
  StageProgress,
} from '../../shared/contracts/progress.js';
import type { Snapshot } from '../pipeline-client.js';
import { cleanLine } from '../terminal/clean-text.js';
import { compact, duration, secondsBetween } from '../terminal/units.js';

/** `step 34/100, reward 0.620, 31.2k tokens/s, KL 0.031`. */
export function armFacts(arm: ArmProgress): string {
  const reward = arm.rewards.at(-1);
  return [
    `step ${arm.step}/${arm.totalSteps}`,
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(3)}`]),
    ...(arm.tokensPerSecond === undefined ? [] : [`${compact(arm.tokensPerSecond)} tokens/s`]),
    ...(arm.kl === undefined ? [] : [`KL ${arm.kl.toFixed(3)}`]),
  ].join(', ');
}

export function evaluationFacts(evaluation: EvaluationProgress): string {
  return [
    `${evaluation.done}/${evaluation.total}`,
    ...(evaluation.errors > 0 ? [`${evaluation.errors} errors`] : []),
    ...(evaluation.subEmPct === undefined ? [] : [`sub-EM ${evaluation.subEmPct.toFixed(1)} %`]),
    ...(evaluation.boxedEmPct === undefined ? [] : [`boxed EM ${evaluation.boxedEmPct.toFixed(1)} %`]),
  ].join(', ');
}

export function attemptLine(attempt: AttemptRecord): string {
  const step = attempt.step === undefined ? '' : ` step ${attempt.step}`;
  const host = attempt.host === undefined ? '' : ` on ${attempt.host}`;
  return cleanLine(`${attempt.activity}${step} of ${attempt.stage}${host} failed: ${attempt.type}: ${attempt.message}`);
}

/** `train:relax goes on with rolloutConcurrency 16 after OutOfMemory`. */
export function fallbackLine({ stage, settings }: FallbackRecord): string {
  const smaller = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return cleanLine(`${stage} goes on with ${smaller.join(', ')} after OutOfMemory`);
}

/** How long a stage took, or has been running. */
export function stageTime(stage: StageProgress): string {
  return stage.startedAt === undefined ? '' : duration(secondsBetween(stage.startedAt, stage.finishedAt));
}

/** @param begun - lines of stages that began, or of all others */
function stageLines(before: Progress | undefined, after: Progress, begun: boolean): string[] {
  const stages = after.stages.filter((stage) => (stage.state === 'running') === begun);
  return stages.flatMap((stage) => {
    const previous = before?.stages.find((other) => other.name === stage.name);
    const lines: string[] = [];
    if (stage.state !== (previous?.state ?? 'pending')) {
      const took = stage.finishedAt === undefined ? '' : ` after ${stageTime(stage)}`;
      lines.push(`${cleanLine(stage.name)}: ${stage.state}${took}`);
    }
    if (stage.note !== undefined && stage.note !== previous?.note)
      lines.push(`${cleanLine(stage.name)}: ${cleanLine(stage.note)}`);
    return lines;
  });
}

function armLines(before: Progress | undefined, after: Progress): string[] {
  return Object.entries(after.arms).flatMap(([name, arm]) => {
    const previous = before?.arms[name];
    if (arm.step === 0 || (previous?.phase === arm.phase && previous.step === arm.step)) return [];
    const eta = after.etaSeconds === undefined || arm.phase === 'smoke' ? '' : `, ETA ${duration(after.etaSeconds)}`;
    return [`${arm.phase}:${cleanLine(name)}: ${armFacts(arm)}${eta}`];
  });
}

function evaluationLines(before: Progress | undefined, after: Progress): string[] {
  return Object.entries(after.evaluations).flatMap(([key, evaluation]) => {
    const previous = before?.evaluations[key];
    const same = previous?.done === evaluation.done && previous.subEmPct === evaluation.subEmPct;
    return same || evaluation.done === 0 ? [] : [`evaluate ${cleanLine(key)}: ${evaluationFacts(evaluation)}`];
  });
}

function attemptLines(before: Progress | undefined, after: Progress): string[] {
  const fresh = after.failedAttempts - (before?.failedAttempts ?? 0);
  return fresh <= 0 ? [] : after.attempts.slice(-fresh).map(attemptLine);
}

function haltLines(before: Progress | undefined, after: Progress, id: string): string[] {
  const halt = after.halt;
  if (halt === undefined || halt.since === before?.halt?.since) return [];
  return [
    `halted in ${cleanLine(halt.stage)}: ${cleanLine(halt.type)}: ${cleanLine(halt.message)}`,
    `fix: ${cleanLine(halt.cure)} Decide: memagent decide ${id} --action retry|abort`,
  ];
}

function pauseLines(before: Progress | undefined, after: Progress, id: string): string[] {
  const stages = after.pause?.stages.join(', ');
  if (stages === undefined || stages === before?.pause?.stages.join(', ')) return [];
  return [`paused after ${cleanLine(stages)}. Decide: memagent decide ${id} --action continue|abort`];
}

function noticeLines(before: Progress | undefined, after: Progress): string[] {
  const warnings = after.warnings?.filter((warning) => before?.warnings?.includes(warning) !== true) ?? [];
  const fallbacks = after.fallbacks?.slice(before?.fallbacks?.length ?? 0) ?? [];
  return [...warnings.map((warning) => `warning: ${cleanLine(warning, 400)}`), ...fallbacks.map(fallbackLine)];
}

/** What changed between two snapshots, one line a change: the picture of a run where nothing can be redrawn. */
export function changeLines(before: Snapshot | undefined, after: Snapshot): string[] {
  const [old, now] = [before?.progress, after.progress];
  const lines: string[] = [];
  if (after.problem !== undefined && after.problem !== before?.problem) lines.push(cleanLine(after.problem));
  if (now !== undefined) {
    if (old === undefined) lines.push(`${after.id}: ${cleanLine(now.recipe)}, started ${now.startedAt}`);
    lines.push(...stageLines(old, now, true), ...armLines(old, now), ...evaluationLines(old, now));
    lines.push(...stageLines(old, now, false));
    lines.push(...attemptLines(old, now), ...noticeLines(old, now));
    lines.push(...haltLines(old, now, after.id), ...pauseLines(old, now, after.id));
  }
  if (after.status !== 'RUNNING' && before?.status !== after.status)
    lines.push(`${after.id}: ${after.status.toLowerCase().replaceAll('_', ' ')}`);
  return lines;
}
