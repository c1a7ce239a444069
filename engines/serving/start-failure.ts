import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { printable } from '../../shared/inference/printable.js';
import { lastLines } from '../../shared/runtime/log-tail.js';
import { DEVICE_MEMORY, HOST_MEMORY, RAY_MEMORY, SERVER_SHARE } from '../supervision/memory-failures.js';

/** Log that is searched for the cause, and what of it is shown. */
const SEARCHED_BYTES = 256 * 1024;
const SEARCHED_LINES = 2_000;
const SHOWN_LINES = 12;
const LONGEST_LINE = 300;

/** Exit code of a shell for a program that a SIGKILL ended, which is what the kernel does when memory runs out. */
const KILLED = 137;
/** Exit code of a shell for a program that is not there or not executable. */
const NOT_FOUND = [126, 127];

const PORT_TAKEN = /address already in use|\bEADDRINUSE\b|Errno 98/i;

export interface ServerEnd {
  /** Name for messages, e.g. `sglang`. */
  what: string;
  program: string;
  /** Exit code; undefined = it was not ready in time. */
  code: number | undefined;
  /** Seconds after its start. */
  seconds: number;
  /** The kernel killed no process for want of memory meanwhile; a SIGKILL came from somebody else. */
  noOomKill: boolean;
  logPath: string;
}

/**
 * The error for a server that ended before it served, or did not serve in time. Too little memory would be too little again, so
 * it is told apart.
 */
export async function startFailure(end: ServerEnd): Promise<PipelineError> {
  const { what, program, code, logPath } = end;
  const lines = await lastLines(logPath, SEARCHED_BYTES, SEARCHED_LINES).catch(() => []);
  const text = lines.join('\n');
  const found = (...patterns: RegExp[]): boolean => patterns.some((pattern) => pattern.test(text));
  const how =
    code === undefined
      ? `did not answer within ${Math.round(end.seconds)} s`
      : `ended with exit code ${code} ${Math.round(end.seconds)} s after its start`;
  const shown = shownLines(lines);
  const message = `${what} ${how}; its log is ${logPath}${shown.length === 0 ? '' : `, which ends:\n${shown.join('\n')}`}`;
  const details = { where: logPath, problems: shown };
  if (found(DEVICE_MEMORY, SERVER_SHARE))
    return outOfMemory(message, details, 'the device', 'Give the server less memory, or fewer and shorter requests');
  if ((code === KILLED && !end.noOomKill) || found(HOST_MEMORY, RAY_MEMORY))
    return outOfMemory(message, details, 'the host', 'Stop other programs on this host, or use one with more memory');
  return new PipelineError('EngineUnavailable', message, { ...details, ...cureOf(code, program, text) });
}

function outOfMemory(message: string, details: object, where: string, cure: string): PipelineError {
  return new PipelineError('OutOfMemory', `${where} has too little memory: ${message}`, {
    ...details,
    cure: `${cure} (serving.args of the recipe), then start the run again.`,
  });
}

function cureOf(code: number | undefined, program: string, text: string): { cure?: string } {
  if (code !== undefined && NOT_FOUND.includes(code))
    return {
      cure: `Install ${program} on this worker, or name the program in serving.command; then \`memagent decide RUN --action retry\`.`,
    };
  if (code === undefined)
    return { cure: 'Look at the log; a large model needs a larger serving.startSeconds in the recipe.' };
  if (PORT_TAKEN.test(text))
    return { cure: 'Another program took the port meanwhile; a repetition takes another one.' };
  return {};
}

/** The last lines with something in them, without colours and control characters. */
function shownLines(lines: readonly string[]): string[] {
  const clean = lines.map((line) => printable(line.replace(/\u001b\[[0-9;]*m/g, ''), LONGEST_LINE).trim());
  return clean.filter((line) => line !== '').slice(-SHOWN_LINES);
}
