import { isAbsolute } from 'node:path';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';

/** A call that is not what it should be: our own client never sends one, so the type is that of wrong rows. */
export function badCall(call: string, problem: string): PipelineError {
  return new PipelineError('ConversionFailed', `${call}: ${problem}`);
}

/** @throws PipelineError ConversionFailed */
export function requireRecord(call: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw badCall(call, `expected an object, got ${JSON.stringify(value)?.slice(0, 40)}`);
}

/** The engine's working folder is nobody's business: paths must not depend on it. @throws PipelineError ConversionFailed */
export function requireAbsolutePath(call: string, fields: Record<string, unknown>, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && isAbsolute(value)) return value;
  throw badCall(call, `${name} must be an absolute path, got ${JSON.stringify(value)?.slice(0, 80)}`);
}

/** A finite number within bounds. @throws PipelineError ConversionFailed */
export function requireNumber(
  call: string,
  fields: Record<string, unknown>,
  name: string,
  bounds: { least?: number; above?: number; below?: number; isInteger?: boolean }
): number {
  const value = fields[name];
  const { least = -Infinity, above = -Infinity, below = Infinity, isInteger = false } = bounds;
  const isGood =
    typeof value === 'number' &&
    Number.isFinite(value) &&
    value >= least &&
    value > above &&
    value < below &&
    (!isInteger || Number.isSafeInteger(value));
  if (isGood) return value;
  throw badCall(call, `${name} is ${JSON.stringify(value)?.slice(0, 40)}, expected ${describe(bounds)}`);
}

function describe({ least, above, below, isInteger }: Parameters<typeof requireNumber>[3]): string {
  const rules = [
    isInteger === true ? 'an integer' : 'a number',
    ...(least === undefined ? [] : [`of at least ${least}`]),
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(below === undefined ? [] : [`below ${below}`]),
  ];
  return rules.join(' ');
}
