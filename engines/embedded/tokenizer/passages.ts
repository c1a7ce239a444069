import { LAPTOP_KEYS, LAPTOP_SEPARATOR, LAPTOP_VALUES, laptopQuestion } from '../../../shared/data/laptop-task.js';
import { finalInstruction, memoryInstruction, NO_MEMORY } from '../../../shared/memory/prompts.js';

/** What stands in a prompt's slots while its fixed passages are cut out; occurs in no prompt. */
const QUESTION = '\u0001';
const MEMORY = '\u0002';
const CHUNK = '\u0003';

/** Passages of the frozen prompts between the slots, in order of appearance, both variants of `<problem>`, without repeats. */
export function promptPassages(): string[] {
  const slots = { question: QUESTION, memory: MEMORY, chunk: CHUNK };
  const variants = [false, true].map((evaluation) => ({ ...slots, evaluation }));
  const texts = [...variants.map(memoryInstruction), ...variants.map(finalInstruction)];
  return [...new Set(texts.flatMap((text) => text.split(/[\u0001\u0002\u0003]/)))].filter((passage) => passage !== '');
}

/**
 * Texts that are one token each, besides the 256 bytes and the special tokens. Their order gives their ids. `}`, `?` and `;` are
 * bytes, so they are tokens already: as added tokens they would have two ids, and Hugging Face's library would keep the byte's and
 * number all later ones anew.
 *
 * A context's last fact ends in `;` (the converter trims it), and the passage after the chunk begins with a line break: the
 * tokenizer then takes the two as `;\n`, the longest match. So that passage is there without its line break as well.
 */
export function laptopPassages(): string[] {
  const prompts = promptPassages();
  const afterSeparator = prompts
    .filter((passage) => passage.startsWith('\n</section>'))
    .map((passage) => passage.slice(1));
  return [
    ...prompts,
    ...afterSeparator,
    'user\n',
    'assistant\n',
    NO_MEMORY,
    '\\boxed{',
    LAPTOP_SEPARATOR,
    ...LAPTOP_KEYS.map(laptopQuestion),
    ...LAPTOP_VALUES,
  ];
}
