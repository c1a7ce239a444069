import { isAbsolute } from 'node:path';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { ProcessIdentity } from '../../../shared/runtime/process-identity.js';
import { KERNEL_KINDS } from '../kernels/kernels.js';
import type { ComputeOptions } from './messages.js';
import { isRecord } from './sampling-params.js';

/** What an engine process is started with. */
export interface EngineArgs extends ComputeOptions {
  /** 0 = any free one. */
  port: number;
  /** The engine ends when this process is gone, or when its own standard input closes. Absent = it lives until it is stopped. */
  owner?: ProcessIdentity;
}

/** @throws PipelineError RecipeInvalid naming every wrong member */
export function parseEngineArgs(text: string | undefined): EngineArgs {
  const value = parseJson(text);
  const problems: string[] = [];
  const need = (name: string, isGood: (member: unknown) => boolean, rule: string): void => {
    if (!isGood(value[name])) problems.push(`${name} must be ${rule}`);
  };
  const isPath = (member: unknown): boolean => typeof member === 'string' && isAbsolute(member);
  const isCount = (least: number) => (member: unknown) => Number.isSafeInteger(member) && (member as number) >= least;
  need('modelDir', isPath, 'an absolute path');
  need('referenceDir', (member) => member === undefined || isPath(member), 'an absolute path');
  need('mode', (member) => member === 'actor' || member === 'serve', '"actor" or "serve"');
  need('contextLength', isCount(2), 'an integer of at least 2');
  need('maxBatch', (member) => member === undefined || isCount(1)(member), 'an integer of at least 1');
  need(
    'kernels',
    (member) => member === undefined || (KERNEL_KINDS as readonly unknown[]).includes(member),
    `one of ${KERNEL_KINDS.join(', ')} (MEMAGENT_ENGINE_KERNELS)`
  );
  need('threads', (member) => [undefined, 1, 2].includes(member as number), '1 or 2 (MEMAGENT_ENGINE_THREADS)');
  need('port', (member) => member === undefined || (isCount(0)(member) && (member as number) < 65_536), 'a port or 0');
  if (problems.length > 0)
    throw new PipelineError('RecipeInvalid', `the engine's arguments: ${problems.join('; ')}`, { problems });
  return { port: 0, ...value } as EngineArgs;
}

function parseJson(text: string | undefined): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    value = undefined;
  }
  if (isRecord(value)) return value;
  throw new PipelineError(
    'RecipeInvalid',
    'the engine takes one argument: a JSON object with modelDir, mode and contextLength'
  );
}
