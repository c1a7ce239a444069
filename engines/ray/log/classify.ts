import type { FailureType } from '../../../shared/contracts/failures.js';
import type { JobEnd, JobFailure } from '../types.js';
import { FAILURE_SIGNATURES } from './failure-signatures.js';
import { LONGEST_LINE } from './line-splitter.js';
import { plainLine } from './plain-line.js';

/** How much of the end of a log is looked at: more is another step's story. UTF-16 units. */
const LOOKED_AT = 256 * 1024;
const MOST_EVIDENCE = 5;
const LONGEST_EVIDENCE = 300;

/** Ray's own causes (`error_type` of the Jobs API, since 2.60), for jobs that never ran or whose supervisor was lost. */
const ERROR_TYPES: Readonly<Record<string, { type: FailureType; says: string }>> = {
  RUNTIME_ENV_SETUP_FAILURE: { type: 'EngineUnavailable', says: 'Ray could not set up the job’s environment' },
  JOB_SUPERVISOR_ACTOR_START_TIMEOUT: {
    type: 'EngineUnavailable',
    says: 'the job did not start in time: the cluster’s resources are taken',
  },
  JOB_SUPERVISOR_ACTOR_START_FAILURE: { type: 'EngineUnavailable', says: 'Ray could not start the job' },
  JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE: {
    type: 'EngineUnavailable',
    says: 'no node has what the job’s driver asks for',
  },
  JOB_SUPERVISOR_ACTOR_DIED: { type: 'HostLost', says: 'the node of the job’s driver was lost' },
  JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE: { type: 'HostLost', says: 'Ray lost the job’s driver' },
  JOB_ENTRYPOINT_COMMAND_START_ERROR: { type: 'EngineUnavailable', says: 'the job’s command could not be started' },
};

/** The same from Ray's message, for versions without `error_type`. */
const MESSAGES: readonly { pattern: RegExp; type: FailureType; says: string }[] = [
  { pattern: /^runtime_env setup failed/, ...required('RUNTIME_ENV_SETUP_FAILURE') },
  { pattern: /^Job supervisor actor could not be scheduled/, ...required('JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE') },
  { pattern: /^Job supervisor actor failed to start within/, ...required('JOB_SUPERVISOR_ACTOR_START_TIMEOUT') },
  {
    pattern: /^Unexpected error occurred: (?:The actor|failed to get job supervisor)/,
    ...required('JOB_SUPERVISOR_ACTOR_DIED'),
  },
];

/** Exit codes without a word in the log; Ray reports a signal as its negative number. */
const SIGNALS: Readonly<Record<number, { type: FailureType; says: string }>> = {
  9: {
    type: 'OutOfMemory',
    says: 'the driver was killed (SIGKILL) without a word, as a host does that runs out of memory',
  },
  15: { type: 'EngineUnavailable', says: 'somebody ended the driver (SIGTERM)' },
  2: { type: 'EngineUnavailable', says: 'somebody interrupted the driver (SIGINT)' },
  11: { type: 'EngineUnavailable', says: 'the driver crashed (SIGSEGV)' },
  6: { type: 'EngineUnavailable', says: 'the driver aborted (SIGABRT)' },
  7: { type: 'OutOfMemory', says: 'the driver got SIGBUS, as with a full /dev/shm' },
};

/**
 * Why a job is over that should not be: from Ray's error type, the log's end, the exit code, in this order of trust.
 *
 * @param end also of a job that succeeded by its own account but did not do its steps
 */
export function classifyJobFailure(end: JobEnd): JobFailure {
  const ray = rayCause(end);
  const lines = lastLines(`${end.message}\n${end.logTail}`);
  // Of a job that was stopped from outside, the log tells only what it was doing.
  const logged = end.status === 'STOPPED' ? undefined : loggedCause(lines);
  const cause = ray ?? logged ?? exitCause(end);
  const saving = cause.type === 'OutOfMemory' ? whileSaving(lines) : undefined;
  const message = saving === undefined ? cause.says : `${cause.says}; it happened while a checkpoint was saved`;
  const evidence = [...cause.evidence, ...(saving === undefined ? [] : [saving])];
  return { type: cause.type, message: `${message}${exitText(end)}`, evidence: evidence.map(excerpt) };
}

interface Cause {
  type: FailureType;
  says: string;
  evidence: string[];
}

function rayCause({ status, errorType, message }: JobEnd): Cause | undefined {
  if (status !== 'FAILED') return undefined;
  const [first = ''] = message.split('\n', 1);
  const byType = errorType !== undefined && Object.hasOwn(ERROR_TYPES, errorType) ? ERROR_TYPES[errorType] : undefined;
  const known = byType ?? MESSAGES.find(({ pattern }) => pattern.test(first));
  return known === undefined ? undefined : { type: known.type, says: known.says, evidence: [first] };
}

function loggedCause(lines: readonly string[]): Cause | undefined {
  for (const { type, pattern, says } of FAILURE_SIGNATURES) {
    const evidence = [...new Set(lines.filter((line) => pattern.test(line)))].slice(0, MOST_EVIDENCE);
    if (evidence.length > 0) return { type, says, evidence };
  }
  return undefined;
}

function exitCause({ status, exitCode, message }: JobEnd): Cause {
  const [first = ''] = message.split('\n', 1);
  const evidence = first === '' ? [] : [first];
  if (status === 'STOPPED') return { type: 'EngineUnavailable', says: 'somebody stopped the job', evidence };
  if (status === 'SUCCEEDED')
    return { type: 'EngineUnavailable', says: 'the job ended well by its own account, before its last step', evidence };
  const signal = exitCode === undefined ? undefined : exitCode < 0 ? -exitCode : exitCode - 128;
  const known = signal === undefined ? undefined : SIGNALS[signal];
  if (known !== undefined) return { ...known, evidence };
  return { type: 'EngineUnavailable', says: 'the job failed for a reason that its log does not name', evidence };
}

/** Megatron announces a save and reports its end; the last one without an end was under way. */
function whileSaving(lines: readonly string[]): string | undefined {
  const began = lines.findLastIndex((line) => /saving checkpoint at iteration/i.test(line));
  const ended = lines.findLastIndex((line) => /successfully saved checkpoint/i.test(line));
  return began > ended ? lines[began] : undefined;
}

function exitText({ status, exitCode }: JobEnd): string {
  return status === 'FAILED' && exitCode !== undefined ? ` (exit code ${exitCode})` : '';
}

function lastLines(text: string): string[] {
  return text
    .slice(-LOOKED_AT)
    .split(/[\r\n]+/)
    .map((line) => plainLine(line.slice(0, LONGEST_LINE)))
    .filter((line) => line !== '');
}

function excerpt(line: string): string {
  const text = line.trim();
  return text.length <= LONGEST_EVIDENCE ? text : `${text.slice(0, LONGEST_EVIDENCE)}…`;
}

function required(errorType: string): { type: FailureType; says: string } {
  const known = ERROR_TYPES[errorType];
  if (known === undefined) throw new RangeError(`no error type ${errorType}`);
  return known;
}
