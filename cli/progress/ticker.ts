import type { Terminal } from '../terminal.js';

/** Time between two lines where nothing can be redrawn. Unit: milliseconds. */
const LINE_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;

/** One line that changes: redrawn on a terminal, printed now and then elsewhere. */
export interface Ticker {
  show(line: string): void;
  end(): void;
}

/** @param quiet show nothing: the output is for a program */
export async function createTicker(terminal: Terminal, quiet: boolean): Promise<Ticker> {
  if (quiet) return { show: () => undefined, end: () => undefined };
  const logUpdate = terminal.isTTY ? (await import('log-update')).default : undefined;
  const every = logUpdate === undefined ? LINE_EVERY_MS : DRAW_EVERY_MS;
  let shownAt = performance.now();
  return {
    show: (line) => {
      if (performance.now() - shownAt < every) return;
      shownAt = performance.now();
      if (logUpdate === undefined) terminal.err(line);
      else logUpdate(line);
    },
    end: () => {
      logUpdate?.clear();
      logUpdate?.done();
    },
  };
}
