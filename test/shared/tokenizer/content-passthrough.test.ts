import { Template } from '@huggingface/jinja';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChatTemplate } from '../../../shared/tokenizer/chat-template.js';
import { passesContentThrough } from '../../../shared/tokenizer/content-passthrough.js';

const passes = (source: string): boolean => passesContentThrough(new Template(source).parsed);

const chatMl =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const passing = [
  chatMl,
  "{% for m in messages %}{% if m['role'] == 'user' %}{{ 'U:' ~ m['content'] }}{% else %}{{ m.content }}{% endif %}{% endfor %}",
  '{% for m in messages %}{{ loop.index0 }}{{ m.content }}{% if not loop.last %}{{ eos_token }}{% endif %}{% endfor %}',
  "{% set name = 'x' | upper %}{% for m in messages %}{{ name + m.content }}{% endfor %}",
];

describe('a template', () => {
  it.each(passing)('passes the content through: %s', (source) => {
    expect(passes(source)).toBe(true);
  });

  it.each([
    '{% for m in messages %}{{ m.content | trim }}{% endfor %}',
    "{% for m in messages %}{% if 'x' in m.content %}y{% endif %}{{ m.content }}{% endfor %}",
    '{% for m in messages %}{% set c = m.content %}{{ c }}{% endfor %}',
    '{% for m in messages %}{% set c = m %}{{ c.content }}{% endfor %}',
    "{% for m in messages %}{{ m.content if m.content else 'none' }}{% endfor %}",
    '{% for m in messages %}{% filter upper %}{{ m.content }}{% endfilter %}{% endfor %}',
    '{% set all %}{% for m in messages %}{{ m.content }}{% endfor %}{% endset %}{{ all | trim }}',
    '{% macro show() %}{% for m in messages %}{{ m.content }}{% endfor %}{% endmacro %}{{ show() | upper }}',
    '{{ messages[0].content }}',
    '{% set list = messages %}{% for m in list %}{{ m.content }}{% endfor %}',
    '{% for m in messages[::-1] %}{{ m.content }}{% endfor %}',
    '{% for m in messages %}{{ loop.previtem.content | length }}{{ m.content }}{% endfor %}',
    "{% for m in messages %}{{ {'a': m.content} | tojson }}{% endfor %}",
    "{% for m in messages %}{{ 'a' * (m.content | length) }}{% endfor %}",
    '{% for m in messages %}{{ m }}{% endfor %}',
    "{% for m in messages if m.content != 'x' %}{{ m.content }}{% endfor %}",
    '{% for m in messages %}{% for n in messages %}{{ m.content }}{% endfor %}{% endfor %}',
  ])('does not: %s', (source) => {
    expect(passes(source)).toBe(false);
  });
});

describe('rendering around the content', () => {
  it('gives what the template gives, for any content and role', () => {
    const message = fc.record({
      role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
      content: fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('{{ 1 }}', '$&', '\u{f0000}content\u{f0001}', '')
      ),
    });
    for (const source of passing) {
      const ours = new ChatTemplate(source, { eos_token: '</s>' } as never, '/nowhere');
      const theirs = new Template(source);
      fc.assert(
        fc.property(message, fc.boolean(), (one, addGenerationPrompt) => {
          const wanted = theirs.render({
            messages: [one],
            add_generation_prompt: addGenerationPrompt,
            eos_token: '</s>',
          });
          expect(ours.render([one], { addGenerationPrompt })).toBe(wanted);
        })
      );
    }
  });
});
