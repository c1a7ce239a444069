import { createColors } from 'picocolors';
import type { EvaluationProgress } from '../../shared/evaluation/types.js';
import type { Terminal } from '../terminal.js';
import { cleanLine } from '../terminal/clean-text.js';
import { duration, plural } from '../terminal/units.js';

/** Time between two lines where nothing can be redrawn. Unit: milliseconds. */
const LINE_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;
const BAR_WIDTH = 30;

export interface ProgressView {
  show(progress: EvaluationProgress): void;
  /** Leaves the last picture standing. */
  end(): void;
}

/** `12/60 (20 %)  1.3 samples/s  ETA 37 s  sub-EM 41.7 %  boxed EM 33.3 %  1 error`. */
export function progressLine(progress: EvaluationProgress): string {
  const { done, total, errors, samplesPerSecond: rate } = progress;
  return [
    `${done}/${total} (${Math.floor((done / total) * 100)} %)`,
    `${rate < 1 ? rate.toFixed(2) : rate.toFixed(1)} samples/s`,
    ...(done < total && rate > 0 ? [`ETA ${duration((total - done) / rate)}`] : []),
    `sub-EM ${progress.subEmPct.toFixed(1)} %`,
    `boxed EM ${progress.boxedEmPct.toFixed(1)} %`,
    plural(errors, 'error'),
  ].join('  ');
}

/** The picture for a terminal: a bar, the facts, the latest error. */
export function progressPicture(progress: EvaluationProgress, columns: number, useColors: boolean): string {
  const colors = createColors(useColors);
  const filled = Math.floor((progress.done / progress.total) * BAR_WIDTH);
  const bar = `${colors.cyan('█'.repeat(filled))}${colors.dim('░'.repeat(BAR_WIDTH - filled))}`;
  const rows = [bar, progressLine(progress)];
  if (progress.lastError !== undefined)
    rows.push(colors.red(`latest error: ${cleanLine(progress.lastError, columns * 2)}`));
  return rows.join('\n');
}

/** One line now and then, and at once for the first error. */
function lineView(terminal: Terminal): ProgressView {
  let last: EvaluationProgress | undefined;
  let shown: EvaluationProgress | undefined;
  let shownAt = -Infinity;
  const print = (progress: EvaluationProgress): void => {
    if (shown?.errors !== progress.errors && (shown?.errors ?? 0) === 0 && progress.lastError !== undefined)
      terminal.err(`first error: ${cleanLine(progress.lastError, 1_000)}`);
    terminal.out(progressLine(progress));
    shown = progress;
    shownAt = performance.now();
  };
  return {
    show: (progress) => {
      last = progress;
      const firstError = progress.errors > 0 && (shown?.errors ?? 0) === 0;
      if (firstError || performance.now() - shownAt >= LINE_EVERY_MS) print(progress);
    },
    end: () => {
      if (last !== undefined && last !== shown) print(last);
    },
  };
}

async function liveView(terminal: Terminal): Promise<ProgressView> {
  const { default: logUpdate } = await import('log-update');
  const colors = terminal.env['NO_COLOR'] === undefined;
  let last: EvaluationProgress | undefined;
  const draw = (): void => {
    if (last !== undefined) logUpdate(progressPicture(last, terminal.columns, colors));
  };
  const timer = setInterval(draw, DRAW_EVERY_MS).unref();
  return {
    show: (progress) => {
      last = progress;
    },
    end: () => {
      clearInterval(timer);
      draw();
      logUpdate.done();
    },
  };
}

/** A redrawn picture on a terminal, plain lines otherwise, nothing when facts are asked for as JSON. */
export async function createProgressView(terminal: Terminal, json: boolean): Promise<ProgressView> {
  if (json) return { show: () => undefined, end: () => undefined };
  return terminal.isTTY ? await liveView(terminal) : lineView(terminal);
}
