import { describe, expect, it } from 'vitest';
import { pyJsonDumps } from '../../../shared/data/python/json-dumps.js';
import { pyJsonLoads } from '../../../shared/data/python/json-loads.js';
import { pyIntOrZero } from '../../../shared/data/python/integers.js';
import { pyFloatRepr, pyRepr } from '../../../shared/data/python/text.js';
import { PythonError, pyStrip, type PyValue } from '../../../shared/data/python/value.js';

/** Every expected value of this file was printed by CPython 3.11. */
function raised(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof PythonError) return `${error.type}: ${error.message}`;
    throw error;
  }
  return 'nothing raised';
}

describe('Python’s repr', () => {
  it.each<[number, string]>([
    [1, '1.0'],
    [-0, '-0.0'],
    [0.1, '0.1'],
    [1e15, '1000000000000000.0'],
    [1e16, '1e+16'],
    [123456789012345680, '1.2345678901234568e+17'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [1.5e-7, '1.5e-07'],
    [5e-324, '5e-324'],
    [1.7976931348623157e308, '1.7976931348623157e+308'],
    [Number.NaN, 'nan'],
    [-Infinity, '-inf'],
  ])('of the float %d is %s', (value, text) => {
    expect(pyFloatRepr(value)).toBe(text);
  });

  it.each<[string, string]>([
    ["it's", '"it\'s"'],
    ['both\'"', "'both\\'\"'"],
    ['a\tb\n\\', "'a\\tb\\n\\\\'"],
    ['\u0000\u007f\u00a0\u00ad', "'\\x00\\x7f\\xa0\\xad'"],
    ['\u200b\u2028\ud800', "'\\u200b\\u2028\\ud800'"],
    ['é日😀', "'é日😀'"],
    ['\u{e0001}', "'\\U000e0001'"],
  ])('of the string %j is %s', (value, text) => {
    expect(pyRepr(value)).toBe(text);
  });

  it('nests as Python prints dicts and lists', () => {
    expect(pyRepr(pyJsonLoads('{"2": [1, 1.0, null, true], "1": {"a": "x"}}'))).toBe(
      "{'2': [1, 1.0, None, True], '1': {'a': 'x'}}"
    );
  });
});

describe('Python’s int()', () => {
  it.each<[PyValue, bigint]>([
    [' 1_000\n', 1000n],
    ['-١٢', -12n],
    ['𝟗', 9n],
    [12.9, 12n],
    [-0.5, 0n],
    [1e22, 10000000000000000000000n],
    [true, 1n],
    [null, 0n],
    ['', 0n],
    [[], 0n],
  ])('of %j (or zero) is %s', (value, expected) => {
    expect(pyIntOrZero(value)).toBe(expected);
  });

  it.each<[PyValue, string]>([
    ['12.5', "ValueError: invalid literal for int() with base 10: '12.5'"],
    ['1__0', "ValueError: invalid literal for int() with base 10: '1__0'"],
    ['x'.repeat(300), `ValueError: invalid literal for int() with base 10: '${'x'.repeat(199)}`],
    [Number.NaN, 'ValueError: cannot convert float NaN to integer'],
    [Infinity, 'OverflowError: cannot convert float infinity to integer'],
    [['x'], "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'list'"],
  ])('of %j raises', (value, message) => {
    expect(raised(() => pyIntOrZero(value))).toBe(message);
  });
});

describe('Python’s strip', () => {
  it('takes U+0085, U+001C–1F and the Unicode spaces, and leaves U+FEFF and U+200B', () => {
    expect(pyStrip('\u001c\u001f\u0085\u00a0\u2003\u3000\t x y \u2028\u2029\r\n')).toBe('x y');
    expect(pyStrip('\ufeffx\u200b')).toBe('\ufeffx\u200b');
    expect(pyStrip(' '.repeat(2_000_000))).toBe('');
  });
});

describe('Python’s json', () => {
  it('reads and writes as CPython does', () => {
    const text =
      '{"a": [1, 1.0, -0.0, 1e22, 1E-7, NaN, -Infinity], "b": "\\u00e9\\ud83d\\ude00\\u007f\\u2028\\n\\u0001/\\/", "a": 2}';
    expect(pyJsonDumps(pyJsonLoads(text))).toBe('{"a": 2, "b": "é😀\u007f\u2028\\n\\u0001//"}');
    expect(pyJsonDumps(pyJsonLoads('[1, 1.0, -0.0, 1e22, 1E-7, NaN, -Infinity]'))).toBe(
      '[1, 1.0, -0.0, 1e+22, 1e-07, NaN, -Infinity]'
    );
    expect(pyJsonDumps(pyJsonLoads('"\\ud800 \\" \\u0000"'))).toBe('"\ud800 \\" \\u0000"');
  });

  it.each<[string, string]>([
    ['', 'Expecting value: line 1 column 1 (char 0)'],
    ['\ufeff1', 'Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)'],
    ['[1,]', 'Expecting value: line 1 column 4 (char 3)'],
    ['{"a": 1,}', 'Expecting property name enclosed in double quotes: line 1 column 9 (char 8)'],
    ['\n\n {"é😀" 1}', "Expecting ':' delimiter: line 3 column 8 (char 9)"],
    ['[1 2]', "Expecting ',' delimiter: line 1 column 4 (char 3)"],
    ['"abc', 'Unterminated string starting at: line 1 column 1 (char 0)'],
    ['"a\u0001"', 'Invalid control character at: line 1 column 3 (char 2)'],
    ['"\\x"', 'Invalid \\escape: line 1 column 2 (char 1)'],
    ['"\\u12"', 'Invalid \\uXXXX escape: line 1 column 3 (char 2)'],
    ['01', 'Extra data: line 1 column 2 (char 1)'],
  ])('raises for %j', (text, message) => {
    expect(raised(() => pyJsonLoads(text))).toBe(`JSONDecodeError: ${message}`);
  });
});
