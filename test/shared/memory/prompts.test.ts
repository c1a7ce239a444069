import { describe, expect, it } from 'vitest';
import {
  finalInstruction,
  memoryInstruction,
  NO_MEMORY,
  questionOf,
  stripStopTexts,
} from '../../../shared/memory/prompts.js';

describe('instructions', () => {
  it('put every part in as it is, whatever it holds', () => {
    const odd = "$& $1 $$ {question} {0} {{memory}} <memory> \\n ${chunk} %s '";
    const parts = { question: `Q ${odd}`, memory: `M ${odd}`, chunk: `C ${odd}`, evaluation: false };
    const memory = memoryInstruction(parts);
    expect(memory).toContain(
      `<problem> \nQ ${odd}\n</problem>\n\n<memory>\nM ${odd}\n</memory>\n\n<section>\nC ${odd}\n</section>`
    );
    const final = finalInstruction(parts);
    expect(final).toContain(`<problem> \nQ ${odd}\n</problem>\n\n<memory>\nM ${odd}\n</memory>\n\nYour answer:\n`);
    expect(final).not.toContain('<section>');
  });

  it('differ between training and evaluation by one space', () => {
    const parts = { question: 'q', memory: NO_MEMORY, chunk: 'c' };
    for (const instruction of [memoryInstruction, finalInstruction]) {
      const training = instruction({ ...parts, evaluation: false });
      const evaluation = instruction({ ...parts, evaluation: true });
      expect(training).toBe(evaluation.replace('<problem>\n', '<problem> \n'));
      expect(training.length).toBe(evaluation.length + 1);
    }
  });
});

describe('stop texts', () => {
  it('are both removed by relax, with Python’s white space at the ends', () => {
    expect(stripStopTexts('\u0085\u001c A<|im_end|>B<|endoftext|> \n', 'relax')).toBe('AB');
    expect(stripStopTexts('\ufeffA', 'relax')).toBe('\ufeffA');
  });

  it('are removed one after the other: what appears by the second removal stays', () => {
    expect(stripStopTexts('<|im_<|endoftext|>end|>', 'relax')).toBe('<|im_end|>');
  });

  it('are only the end of text for vime', () => {
    expect(stripStopTexts(' A<|im_end|>B<|endoftext|> ', 'vime')).toBe('A<|im_end|>B');
  });
});

describe('the question', () => {
  it('is the row’s own for relax, trimmed, and the prompt for vime, as it is', () => {
    const row = { prompt: ' prompt ', question: ' own ' };
    expect(questionOf('relax', row)).toBe('own');
    expect(questionOf('vime', row)).toBe(' prompt ');
    expect(questionOf('relax', { prompt: ' prompt ', question: '' })).toBe('prompt');
    expect(questionOf('relax', { prompt: ' prompt ', question: null })).toBe('prompt');
  });

  it('is the last message of a prompt of messages', () => {
    const prompt = [{ content: 'first' }, { content: 'last' }];
    expect(questionOf('relax', { prompt })).toBe('last');
    expect(questionOf('vime', { prompt })).toBe('last');
    expect(questionOf('vime', { prompt: [] })).toBe('');
  });
});
