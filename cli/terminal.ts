/** Where a command writes to and what it runs in. Tests give their own. */
export interface Terminal {
  /** One line (or several) of results, to standard output. */
  out(text: string): void;
  /** Notices and errors, to standard error. */
  err(text: string): void;
  /** Standard output is a terminal that can redraw. */
  isTTY: boolean;
  columns: number;
  env: NodeJS.ProcessEnv;
  /**
   * From now on Ctrl-C (also SIGTERM and SIGHUP) aborts the returned signal instead of ending the process at once: for commands
   * that have something to stop.
   */
  handleInterrupts(): AbortSignal;
}

/** Narrower “terminals” are pseudo-terminals without a size: treated as no terminal. */
const NARROWEST = 20;

/** The process's own terminal. */
export function processTerminal(handleInterrupts: () => AbortSignal): Terminal {
  const columns = process.stdout.columns ?? 80;
  const canRedraw = process.stdout.isTTY && columns >= NARROWEST && process.env['TERM'] !== 'dumb';
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    isTTY: canRedraw,
    columns: Math.max(columns, NARROWEST),
    env: process.env,
    handleInterrupts,
  };
}
