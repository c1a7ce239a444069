import { runCommandLine } from '../../cli/program.js';
import type { Terminal } from '../../cli/terminal.js';

/** What a command line did. */
export interface CommandResult {
  code: number;
  out: string;
  err: string;
}

export interface CommandOptions {
  env?: Record<string, string | undefined>;
  isTTY?: boolean;
  /** Ctrl-C. */
  signal?: AbortSignal;
  onLine?: (line: string) => void;
}

/** Runs a command line in this process, with its output caught. */
export async function memagent(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const out: string[] = [];
  const err: string[] = [];
  const terminal: Terminal = {
    out: (text) => {
      out.push(text);
      options.onLine?.(text);
    },
    err: (text) => void err.push(text),
    isTTY: options.isTTY ?? false,
    columns: 100,
    env: { ...process.env, ...options.env },
    handleInterrupts: () => options.signal ?? new AbortController().signal,
  };
  const code = await runCommandLine(args, terminal);
  return { code, out: out.join('\n'), err: err.join('\n') };
}
