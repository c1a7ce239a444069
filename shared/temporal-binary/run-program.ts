import { spawn } from 'node:child_process';

export interface ProgramResult {
  /** Exit code; null when it was ended by a signal or could not be started. */
  code: number | null;
  /** Standard output and error, interleaved, at most 64 KiB from the end. */
  output: string;
  /** Why it could not be started, or that it was stopped after the time limit. */
  error?: string;
}

const KEPT_OUTPUT = 64 * 1024;

export interface ProgramOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Unit: milliseconds. */
  timeoutMs: number;
}

/** Runs a program to its end. Never throws: whatever goes wrong is in the result. */
export function runProgram(command: string, args: readonly string[], options: ProgramOptions): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      cwd: options.cwd,
    });
    let output = '';
    let error: string | undefined;
    const keep = (data: Buffer): void => {
      output = (output + data.toString('utf8')).slice(-KEPT_OUTPUT);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const timer = setTimeout(() => {
      error = `no end after ${Math.round(options.timeoutMs / 1000)} s`;
      child.kill('SIGKILL');
    }, options.timeoutMs);
    const end = (code: number | null): void => {
      clearTimeout(timer);
      resolve({ code, output, ...(error === undefined ? {} : { error }) });
    };
    child.on('error', (problem) => {
      error = (problem as NodeJS.ErrnoException).code ?? problem.message;
      end(null);
    });
    child.on('close', end);
  });
}

/** The last lines that say something, for error messages. */
export function lastLines(output: string, count = 3): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.slice(-count).join(' / ').slice(0, 500);
}
