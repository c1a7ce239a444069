import type { PolicyRow } from '../policy-api.js';
import type { ModelFacts } from '../server/messages.js';
import { badCall, requireNumber, requireRecord } from './call-args.js';

const CALL = 'score';

/** @throws PipelineError ConversionFailed naming the first wrong member */
export function checkedScoreCall(
  fields: Record<string, unknown>,
  { vocabSize, contextLength }: ModelFacts
): { rows: Pick<PolicyRow, 'tokens' | 'responseLength'>[]; temperature: number } {
  const temperature = requireNumber(CALL, fields, 'temperature', { above: 0 });
  const list = fields['rows'];
  if (!Array.isArray(list) || list.length === 0) throw badCall(CALL, 'rows must be a list with at least one row');
  const isId = (id: unknown): boolean => Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < vocabSize;
  const rows = list.map((value, index) => {
    const where = `${CALL}: row ${index}`;
    const row = requireRecord(where, value);
    const tokens: unknown = row['tokens'];
    if (!Array.isArray(tokens) || !tokens.every(isId)) throw badCall(where, 'tokens must be ids of the model');
    if (tokens.length > contextLength)
      throw badCall(where, `${tokens.length} tokens, the context has ${contextLength}`);
    // The first token of a sequence is never predicted.
    const bounds = { least: 1, below: tokens.length, isInteger: true };
    return { tokens: tokens as number[], responseLength: requireNumber(where, row, 'response_length', bounds) };
  });
  return { rows, temperature };
}
