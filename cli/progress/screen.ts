import { createColors } from 'picocolors';
import type { Progress, StageProgress, StageState } from '../../shared/contracts/progress.js';
import type { Snapshot } from '../pipeline-client.js';
import { cleanLine } from '../terminal/clean-text.js';
import { sparkline } from '../terminal/sparkline.js';
import { duration, plural, secondsBetween } from '../terminal/units.js';
import { attemptRows } from './attempts.js';
import { armFacts, evaluationFacts, fallbackLine, stageTime } from './lines.js';

type Colors = ReturnType<typeof createColors>;

const MARKS: Record<StageState, string> = {
  pending: '·',
  running: '▶',
  done: '✔',
  reused: '↺',
  failed: '✖',
  halted: '⏸',
  cancelled: '⏹',
};

function markOf(state: StageState, colors: Colors): string {
  const mark = MARKS[state];
  if (state === 'done' || state === 'reused') return colors.green(mark);
  if (state === 'failed' || state === 'halted') return colors.red(mark);
  return state === 'running' ? colors.cyan(mark) : colors.dim(mark);
}

/** Arm that a stage such as `train:relax` shows the steps of. */
function armOf(stage: StageProgress, progress: Progress): string | undefined {
  const [phase, name] = stage.name.split(':');
  const arm = name === undefined ? undefined : progress.arms[name];
  return arm !== undefined && arm.phase === phase ? name : undefined;
}

function stageRow(stage: StageProgress, progress: Progress, colors: Colors, columns: number): string[] {
  const name = armOf(stage, progress);
  const arm = name === undefined ? undefined : progress.arms[name];
  const facts = [
    stageTime(stage),
    ...(arm === undefined ? [] : [armFacts(arm)]),
    ...(stage.state === 'reused' ? ['reused from an equal earlier stage'] : []),
    ...(stage.retries > 0
      ? [`${plural(stage.retries, 'retry', 'retries')}, ${duration(stage.secondsLost ?? 0)} lost`]
      : []),
  ].filter((fact) => fact !== '');
  const title = cleanLine(stage.name, 24).padEnd(16);
  const rows = [
    ` ${markOf(stage.state, colors)} ${stage.state === 'pending' ? colors.dim(title) : title} ${facts.join('  ')}`,
  ];
  if (arm !== undefined && arm.rewards.length > 1 && arm.phase === 'train')
    rows.push(`   ${' '.repeat(16)} ${colors.cyan(sparkline(arm.rewards, Math.min(60, columns - 24)))}`);
  if (stage.note !== undefined) rows.push(`   ${' '.repeat(16)} ${colors.yellow(cleanLine(stage.note))}`);
  if (stage.name === 'evaluate' && stage.state !== 'pending') rows.push(...evaluationRows(progress));
  return rows;
}

function evaluationRows(progress: Progress): string[] {
  return Object.entries(progress.evaluations)
    .filter(([, evaluation]) => evaluation.done > 0)
    .map(([key, evaluation]) => `     ${cleanLine(key, 40).padEnd(24)} ${evaluationFacts(evaluation)}`);
}

function headline(snapshot: Snapshot, progress: Progress | undefined, colors: Colors): string {
  const state = progress?.state ?? snapshot.status.toLowerCase();
  const time = duration(secondsBetween(snapshot.startedAt, snapshot.closedAt));
  const eta = progress?.etaSeconds === undefined ? '' : `  training ETA ${duration(progress.etaSeconds)}`;
  return `${colors.bold(snapshot.id)}  ${state}  ${time}${snapshot.status === 'RUNNING' ? eta : ''}`;
}

/** The whole picture of a run, for a terminal that can redraw and for `status`. */
export function screen(snapshot: Snapshot, options: { columns: number; colors: boolean }): string {
  const colors = createColors(options.colors);
  const progress = snapshot.progress;
  const rows = [headline(snapshot, progress, colors)];
  if (snapshot.problem !== undefined) rows.push(colors.yellow(cleanLine(snapshot.problem)));
  for (const stage of progress?.stages ?? []) rows.push(...stageRow(stage, progress!, colors, options.columns));
  if (progress?.halt !== undefined) {
    const halt = progress.halt;
    rows.push(colors.red(`⏸ halted: ${cleanLine(halt.type)}: ${cleanLine(halt.message)}`), `  ${cleanLine(halt.cure)}`);
    rows.push(`  memagent decide ${snapshot.id} --action retry|abort`);
  }
  if (progress?.pause !== undefined) {
    rows.push(colors.yellow(`⏸ paused after ${cleanLine(progress.pause.stages.join(', '))}`));
    rows.push(`  memagent decide ${snapshot.id} --action continue|abort, or --action retry --from-stage STAGE`);
  }
  for (const used of progress?.fallbacks ?? []) rows.push(colors.yellow(fallbackLine(used)));
  for (const warning of progress?.warnings ?? []) rows.push(colors.yellow(`⚠ ${cleanLine(warning, 400)}`));
  if (progress !== undefined)
    rows.push(...attemptRows(progress, snapshot.closedAt, options.columns).map((row) => colors.dim(row)));
  return rows.join('\n');
}
