import { pyStrip } from '../data/python/value.js';
import type { Flavour } from '../contracts/trajectory.js';

/** Memory before the first chunk. */
export const NO_MEMORY = 'No previous memory';

/**
 * Texts removed from a reply. Some servers leave the end token's text in it. vime removes only the second one: it decodes
 * replies without special tokens, so the first does not occur there.
 */
const STOP_TEXTS: Readonly<Record<Flavour, readonly string[]>> = {
  relax: ['<|im_end|>', '<|endoftext|>'],
  vime: ['<|endoftext|>'],
};

/** The prompts are frozen: a changed byte is another experiment. */
const MEMORY_HEAD =
  'You are presented with a problem, a section of an article that may contain the answer to the problem, and a previous memory. ' +
  'Please read the provided section carefully and update the memory with the new information that helps to answer the problem. ' +
  'Be sure to retain all relevant details from the previous memory while adding any new, useful information.\n\n';
const FINAL_HEAD =
  'You are presented with a problem and a previous memory. ' +
  'Please answer the problem based on the previous memory and put the answer in \\boxed{}.\n\n';

export interface PromptParts {
  question: string;
  memory: string;
  /** true = evaluation: nothing behind `<problem>`; false = training: one space. */
  evaluation: boolean;
}

/** The instruction of a memory turn: question, memory so far and one chunk of the context. */
export function memoryInstruction(parts: PromptParts & { chunk: string }): string {
  return `${MEMORY_HEAD}${problemAndMemory(parts)}<section>\n${parts.chunk}\n</section>\n\nUpdated memory:\n`;
}

/** The instruction of the final turn: question and memory, nothing of the context. */
export function finalInstruction(parts: PromptParts): string {
  return `${FINAL_HEAD}${problemAndMemory(parts)}Your answer:\n`;
}

function problemAndMemory({ question, memory, evaluation }: PromptParts): string {
  const problem = evaluation ? '<problem>' : '<problem> ';
  return `${problem}\n${question}\n</problem>\n\n<memory>\n${memory}\n</memory>\n\n`;
}

/** A reply without stop texts and without white space (Python's) at both ends. */
export function stripStopTexts(text: string, flavour: Flavour): string {
  let rest = text;
  // One after the other, as the references do: a text that appears by removing the second one stays.
  for (const stop of STOP_TEXTS[flavour]) rest = rest.replaceAll(stop, '');
  return pyStrip(rest);
}

/**
 * The question a trajectory is asked.
 *
 * relax: the data row's own question when it has one, else the prompt (the last message's text), trimmed.
 * vime: always the prompt, as it is.
 */
export function questionOf(
  flavour: Flavour,
  row: { prompt: string | readonly { content: string }[]; question?: string | null | undefined }
): string {
  const prompt = typeof row.prompt === 'string' ? row.prompt : (row.prompt.at(-1)?.content ?? '');
  return flavour === 'vime' ? prompt : pyStrip(row.question || prompt);
}
