import { FAILURES, isFailureType, type FailureDetails } from '../shared/contracts/failures.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';
import { BinaryNotFoundError } from '../shared/temporal-binary/find-binary.js';
import { cleanText } from './terminal/clean-text.js';

export interface ErrorScreen {
  /** What, where and how to fix it; ready to print. */
  text: string;
  exitCode: number;
}

/** Lines of problems shown at most: one screen. */
const MOST_PROBLEMS = 20;

interface Facts {
  message: string;
  problems?: readonly string[];
  cure?: string | undefined;
  exitCode?: number;
}

/** Turns whatever was thrown into one screen without a stack trace. `MEMAGENT_DEBUG=1` adds the stack. */
export function describeError(error: unknown, env: NodeJS.ProcessEnv = process.env): ErrorScreen {
  const facts = factsOf(error);
  // A message may hold its own problems, one a line, so that it is complete in the Temporal UI too.
  const [headline = '', ...rest] = cleanText(facts.message, 6_000).split('\n');
  const listed = facts.problems?.length ? [] : rest.filter((line) => line.trim() !== '');
  const problems = [...listed, ...(facts.problems ?? [])].map((line) => line.replace(/^\s*-\s*/, ''));
  const lines = [`error: ${headline}`];
  for (const problem of problems.slice(0, MOST_PROBLEMS))
    if (!headline.includes(problem)) lines.push(`  - ${cleanText(problem, 400)}`);
  if (problems.length > MOST_PROBLEMS) lines.push(`  … and ${problems.length - MOST_PROBLEMS} more`);
  if (facts.cure !== undefined && !headline.includes(facts.cure)) lines.push(`fix: ${cleanText(facts.cure, 1_000)}`);
  if (env['MEMAGENT_DEBUG'] === '1' && error instanceof Error) lines.push('', error.stack ?? '');
  return { text: lines.join('\n'), exitCode: facts.exitCode ?? EXIT.failed };
}

function factsOf(error: unknown): Facts {
  if (error instanceof UserError) return error;
  if (error instanceof BinaryNotFoundError) return { message: error.headline, problems: error.tried, cure: error.cure };
  if (error instanceof PipelineError) return failureFacts(error.type, error.message, error.details);
  if (!(error instanceof Error)) return { message: String(error) };
  return temporalFacts(error) ?? systemFacts(error) ?? unexpected(error);
}

/** A failure of the table: from this process or out of a workflow's history. */
export function failureFacts(type: string, message: string, details: FailureDetails = {}): Facts {
  const cure = details.cure ?? (isFailureType(type) ? FAILURES[type].cure : undefined);
  const exitCode = type === 'RecipeInvalid' ? EXIT.usage : EXIT.failed;
  return { message, problems: details.problems ?? [], cure, exitCode };
}

function temporalFacts(error: Error): Facts | undefined {
  if (error.name === 'WorkflowNotFoundError') {
    const id = (error as Error & { workflowId?: string }).workflowId;
    return {
      message: `there is no workflow ${JSON.stringify(id ?? '')} on this server`,
      cure: '`temporal workflow list` shows what is there; check TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
      exitCode: EXIT.usage,
    };
  }
  if (error.name === 'WorkflowUpdateFailedError') {
    return { message: `the pipeline refused: ${error.cause instanceof Error ? error.cause.message : error.message}` };
  }
  const code = (error as { code?: unknown }).code ?? (error.cause as { code?: unknown } | undefined)?.code;
  // gRPC: 14 unavailable, 4 deadline exceeded, 16 and 7 not allowed.
  if (error.name !== 'ServiceError' && !('metadata' in error)) return undefined;
  if (code === 14 || code === 4)
    return {
      message: `the Temporal server does not answer: ${error.message}`,
      cure: 'Check that it is up; then repeat the command.',
    };
  if (code === 16 || code === 7)
    return {
      message: `the Temporal server refuses: ${error.message}`,
      cure: 'Check TEMPORAL_API_KEY, TEMPORAL_TLS and TEMPORAL_NAMESPACE.',
    };
  return { message: `the Temporal server answered with an error: ${error.message}` };
}

const SYSTEM_CURES: Readonly<Record<string, string>> = {
  ENOENT: 'Check the path.',
  EACCES: 'Give yourself permission for the path, or choose another place.',
  EPERM: 'Give yourself permission for the path, or choose another place.',
  EROFS: 'The file system is read-only: choose another place.',
  ENOSPC: 'The disk is full: free space, then repeat the command. What was written before is not lost.',
  EDQUOT: 'Your disk quota is used up: free space, then repeat the command.',
  EADDRINUSE: 'Stop the program that uses the port, or choose another port.',
};

function systemFacts(error: Error): Facts | undefined {
  const code = (error as NodeJS.ErrnoException).code;
  const cure = code === undefined ? undefined : SYSTEM_CURES[code];
  return cure === undefined ? undefined : { message: error.message, cure };
}

function unexpected(error: Error): Facts {
  return {
    message: `${error.name === 'Error' ? '' : `${error.name}: `}${error.message}`,
    cure: 'This is not an error we know. MEMAGENT_DEBUG=1 prints where it happened.',
  };
}
