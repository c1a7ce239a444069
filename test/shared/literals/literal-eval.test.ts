import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNotALiteral, parseLiteral } from '../../../shared/literals/literal-eval.js';
import { literalRepr, type Literal } from '../../../shared/literals/values.js';

const SEED = 20_260_701;

/** What CPython 3.11 prints for `repr(ast.literal_eval(text))`. */
const VALUES: [text: string, repr: string][] = [
  ["{'a': 1, 'b': [1.5, None, True]}", "{'a': 1, 'b': [1.5, None, True]}"],
  ["{'a': 1, 'a': 2}", "{'a': 2}"],
  ['{True: 1, 1: 2, 1.0: 3}', '{True: 3}'],
  ['(1)', '1'],
  ['(1,)', '(1,)'],
  ['()', '()'],
  ['1, 2', '(1, 2)'],
  ['set()', 'set()'],
  ['{1}', '{1}'],
  ['0x_fF', '255'],
  ['0b101', '5'],
  ['1_000', '1000'],
  ['00', '0'],
  ['012.5', '12.5'],
  ['.5e1', '5.0'],
  ['1e999', 'inf'],
  ['-2j', '(-0-2j)'],
  ['1.5-2j', '(1.5-2j)'],
  ['99999999999999999999999', '99999999999999999999999'],
  ['...', 'Ellipsis'],
  ["'it\\'s' \"x\"", '"it\'sx"'],
  ["r'\\n'", "'\\\\n'"],
  ["'\\x41\\101\\u00e9\\q'", "'AAé\\\\q'"],
  ["b'a\\xff\\''", 'b"a\\xff\'"'],
  ["'''a'b'''", '"a\'b"'],
  ["{'a': 1} #}", "{'a': 1}"],
];

const REFUSED = [
  'nan',
  'inf',
  'np.float64(0.5)',
  'a[1:2]',
  '1 + 2',
  '2j + 1',
  '--1',
  '-True',
  "f'{x}'",
  "'a' b'b'",
  '{**x}',
  '{1: 2, 3}',
  '012',
  '1__0',
  "'\\x4'",
  "'open",
  '{} {}',
  '[,]',
  '',
  'x if y else z',
  "b'é'",
  '1\u00a0',
  "'\ud800'",
];

describe('Python literals', () => {
  it.each(VALUES)('reads %s as %s', (text, repr) => {
    expect(literalRepr(parseLiteral(text))).toBe(repr);
  });

  it.each(REFUSED)('refuses %j, which is not a literal', (text) => {
    let error: unknown;
    try {
      parseLiteral(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(isNotALiteral(error)).toBe(true);
  });

  it('fails as Python does on a key that cannot be hashed, unless something before it is no literal', () => {
    expect(() => parseLiteral('{[1]: 2}')).toThrow("unhashable type: 'list'");
    expect(() => parseLiteral('{(1, {}): 2}')).toThrow("unhashable type: 'dict'");
    expect(() => parseLiteral('{[1]: 2, 3: nan}')).toThrow("unhashable type: 'list'");
    expect(() => parseLiteral('{[1]: nan}')).toThrow('not a literal');
  });

  it('reads back what it prints', () => {
    const scalar = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.bigInt(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: 'grapheme' })
    );
    const { value } = fc.letrec<{ value: Literal }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        scalar,
        fc.array(tie('value'), { maxLength: 4 }).map((items): Literal => ({ kind: 'list', items })),
        fc.array(tie('value'), { maxLength: 4 }).map((items): Literal => ({ kind: 'tuple', items }))
      ),
    }));
    fc.assert(
      fc.property(value, (literal) => {
        const text = literalRepr(literal);
        expect(literalRepr(parseLiteral(text))).toBe(text);
      }),
      { seed: SEED, numRuns: 500 }
    );
  });

  it('never ends in anything but a value or one of its errors, whatever the text', () => {
    const pieces = fc.constantFrom(
      ...'{}[]()\'",:#\\+-.jxr0123 \n'.split(''),
      'nan',
      'set',
      '**',
      "'''",
      'e5',
      'é',
      '\ud800'
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 24 }), (parts) => {
        try {
          literalRepr(parseLiteral(parts.join('')));
        } catch (error) {
          const unhashable = error instanceof Error && error.message.startsWith('unhashable type');
          expect(isNotALiteral(error) || unhashable).toBe(true);
        }
      }),
      { seed: SEED, numRuns: 3000 }
    );
  });

  it('refuses deep nesting and takes a million characters of any kind', () => {
    expect(() => parseLiteral('['.repeat(300) + ']'.repeat(300))).toThrow('nested');
    const size = 1_000_000;
    for (const unit of ["'", '"', '\\', '-', '1', '[', '{', '#', ' ', 'a', '+1', "''", "'\\'", '1_', 'é']) {
      const text = unit.repeat(size / unit.length);
      try {
        parseLiteral(text);
      } catch (error) {
        expect(isNotALiteral(error)).toBe(true);
      }
    }
  });
});
