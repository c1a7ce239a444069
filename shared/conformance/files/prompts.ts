import { finalInstruction, memoryInstruction } from '../../memory/prompts.js';
import type { Tokenizer } from '../../tokenizer/types.js';
import { differences } from '../difference.js';
import type { ConformanceCase } from '../types.js';
import { project, sha256Ids, sha256Text, tokenizerChecker } from './tokenizer-cases.js';

interface Input {
  kind: 'memory' | 'final';
  question: string;
  memory: string;
  chunk?: string;
  evaluation: boolean;
  enable_thinking: boolean | null;
}

function check(testCase: ConformanceCase, tokenizer: Tokenizer): string[] {
  const input = testCase.input as Input;
  const instruction =
    input.kind === 'memory' ? memoryInstruction({ ...input, chunk: input.chunk ?? '' }) : finalInstruction(input);
  const rendered = tokenizer.renderChat([{ role: 'user', content: instruction }], {
    enableThinking: input.enable_thinking,
  });
  const ids = tokenizer.encode(rendered);
  const actual = {
    instruction,
    instruction_sha256: sha256Text(instruction),
    rendered,
    rendered_sha256: sha256Text(rendered),
    num_tokens: ids.length,
    ids,
    ids_sha256: sha256Ids(ids),
  };
  return differences(testCase.expected, project(testCase.expected, actual), 'expected');
}

/** Bytes of the instructions, of their chat rendering, and the ids. */
export const promptsChecker = tokenizerChecker('prompts.json', check);
