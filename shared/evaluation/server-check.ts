import { resolve } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import { printable } from '../inference/printable.js';
import type { ServerFacts } from '../inference/types.js';

export interface ServerExpectation {
  modelPath?: string | undefined;
  contextLength?: number | undefined;
  weightsVersion?: string | undefined;
}

/** The model's path, or a name under which the server takes requests for it. */
function isModel(facts: ServerFacts, expected: string): boolean {
  return facts.servedNames.includes(expected) || sameModel(facts.modelPath ?? '', expected);
}

function servedModel({ modelPath, servedNames }: ServerFacts): string | null {
  const names = [...new Set([...(modelPath === null ? [] : [modelPath]), ...servedNames])];
  return names.length === 0 ? null : names.map((name) => printable(name, 200)).join(', ');
}

/** Servers repeat the path as they were given it: relative, with a trailing slash, or absolute. */
function sameModel(served: string, expected: string): boolean {
  return served === expected || resolve(served) === resolve(expected);
}

/**
 * Refuses a server that is not the one the evaluation is about. What a server does not tell is not held against it.
 *
 * @throws PipelineError PinMismatch with every difference
 */
export function checkServer(facts: ServerFacts, expected: ServerExpectation): void {
  const problems: string[] = [];
  const compare = (name: string, served: unknown, wanted: unknown, same: boolean): void => {
    if (wanted !== undefined && served !== null && !same)
      problems.push(`${name}: the server has ${String(served)}, expected ${String(wanted)}`);
  };
  const { modelPath, contextLength, weightsVersion } = expected;
  compare('model', servedModel(facts), modelPath, isModel(facts, modelPath ?? ''));
  compare('context length', facts.contextLength, contextLength, facts.contextLength === contextLength);
  compare('weights version', facts.weightsVersion, weightsVersion, facts.weightsVersion === weightsVersion);
  if (problems.length === 0) return;
  throw new PipelineError(
    'PinMismatch',
    `${facts.endpoint} is not the server to evaluate: ${problems.join('; ')}. Start the server with the expected model and settings, or change what is expected`,
    { where: facts.endpoint, problems }
  );
}
