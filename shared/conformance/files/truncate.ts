import { truncateToTokens } from '../../memory/truncate.js';
import type { Tokenizer } from '../../tokenizer/types.js';
import { differences } from '../difference.js';
import type { ConformanceCase } from '../types.js';
import { project, refusalDifferences, textOf, thrownBy, tokenizerChecker, type CaseText } from './tokenizer-cases.js';

interface Input {
  text: CaseText;
  max_tokens: number;
}

function truncated(input: Input, tokenizer: Tokenizer): unknown {
  const text = textOf(input.text);
  const bounded = truncateToTokens(tokenizer, text, input.max_tokens);
  const ids = tokenizer.encode(text);
  const decoded = tokenizer.decode(ids.slice(0, input.max_tokens));
  return {
    ...bounded,
    input_tokens: ids.length,
    first_decode_tokens: tokenizer.encode(decoded).length,
    trimmed_characters: [...decoded].length - [...bounded.text].length,
  };
}

function check(testCase: ConformanceCase, tokenizer: Tokenizer): string[] {
  const input = testCase.input as Input;
  const expected = testCase.expected as { error?: { message: string } };
  if (expected.error !== undefined)
    return refusalDifferences(
      expected.error,
      thrownBy(() => truncated(input, tokenizer))
    );
  return differences(expected, project(expected, truncated(input, tokenizer)), 'expected');
}

/** The hard cap of the memory. */
export const truncateChecker = tokenizerChecker('truncate.json', check);
