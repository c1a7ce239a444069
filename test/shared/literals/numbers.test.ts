import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { divideIntegers, exactFraction } from '../../../shared/literals/exact-division.js';
import { pyFloat, pyInt } from '../../../shared/literals/python-numbers.js';
import { formatFixed, roundHalfEven } from '../../../shared/literals/rounding.js';
import { exactMean, exactSum } from '../../../shared/literals/sums.js';

const SEED = 20_260_702;
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

describe('rounding to decimals', () => {
  it('rounds the exact binary value half to even, where toFixed rounds ties up', () => {
    expect(formatFixed(0.03125, 4)).toBe('0.0312');
    expect(formatFixed(0.09375, 4)).toBe('0.0938');
    expect(formatFixed(2.5, 0)).toBe('2');
    expect(formatFixed(2.675, 2)).toBe('2.67');
    expect(roundHalfEven(0.03125, 4)).toBe(0.0312);
  });

  it('keeps the sign of zero and never uses an exponent', () => {
    expect(formatFixed(-0.001, 2)).toBe('-0.00');
    expect(formatFixed(1e22, 2)).toBe('10000000000000000000000.00');
    expect(formatFixed(5e-324, 2)).toBe('0.00');
    expect(formatFixed(Number.NaN, 2)).toBe('nan');
  });

  it('is never further than half a unit from the value', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.integer({ min: 0, max: 6 }), (value, digits) => {
        expect(Math.abs(Number(formatFixed(value, digits)) - value)).toBeLessThanOrEqual(0.5 * 10 ** -digits + 1e-9);
      }),
      { seed: SEED, numRuns: 1000 }
    );
  });
});

describe('exact sums', () => {
  it('loses no bit and does not depend on the order', () => {
    expect(exactSum([1e16, 1, -1e16])).toBe(1);
    expect(exactSum(new Array<number>(10).fill(0.1))).toBe(1);
    expect(exactSum([-0])).toBe(0);
    expect(Object.is(exactSum([-0]), 0)).toBe(true);
    expect(exactSum([1, 1e-16, 1e-16])).toBe(1.0000000000000002);
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1e10, max: 1e10, noNaN: true }), { maxLength: 20 }), (values) => {
        expect(exactSum([...values].reverse())).toBe(exactSum(values));
      }),
      { seed: SEED, numRuns: 500 }
    );
  });

  it('refuses the mean of nothing', () => {
    expect(exactMean([0.1, 0.2, 0.3])).toBe(0.19999999999999998);
    expect(() => exactMean([])).toThrow(RangeError);
  });
});

describe('integer quotients', () => {
  it('gives the double nearest to the quotient for integers of any size', () => {
    expect(divideIntegers(1n, 3n)).toBe(1 / 3);
    expect(divideIntegers(-7n, 2n)).toBe(-3.5);
    expect(divideIntegers(0n, -5n)).toBe(0);
    expect(divideIntegers(10n ** 400n, 10n ** 399n)).toBe(10);
    expect(divideIntegers(2n ** 54n + 1n, 2n)).toBe(2 ** 53);
    expect(() => divideIntegers(1n, 0n)).toThrow(RangeError);
  });

  it('undoes the exact fraction of every double', () => {
    fc.assert(
      fc.property(finite, (value) => {
        const { numerator, denominator } = exactFraction(value);
        expect(divideIntegers(numerator, denominator) === value).toBe(true);
      }),
      { seed: SEED, numRuns: 2000 }
    );
  });
});

describe("Python's number parsing", () => {
  it('takes white space, underscores between digits, digits of every script, and names', () => {
    expect(pyFloat(' \u00a01_0.5\u0085')).toBe(10.5);
    expect(pyFloat('\u0663.\uff15')).toBe(3.5);
    expect(pyFloat('-Infinity')).toBe(Number.NEGATIVE_INFINITY);
    expect(pyFloat('nan')).toBeNaN();
    expect(pyInt('\t-0_12\n')).toBe(-12n);
    expect(pyInt(-3.9)).toBe(-3n);
    expect(pyInt(true)).toBe(1n);
  });

  it.each([
    ['1__0', "could not convert string to float: '1__0'"],
    ['', "could not convert string to float: ''"],
    ['\ufeff1', "could not convert string to float: '\\ufeff1'"],
    ['0x1', "could not convert string to float: '0x1'"],
  ])('refuses %j with Python’s words', (text, message) => {
    expect(() => pyFloat(text)).toThrow(message);
  });

  it('refuses what is no number with Python’s words', () => {
    expect(() => pyFloat(null)).toThrow("float() argument must be a string or a real number, not 'NoneType'");
    expect(() => pyInt([])).toThrow("not 'list'");
    expect(() => pyInt('1.0')).toThrow("invalid literal for int() with base 10: '1.0'");
    expect(() => pyInt(Number.NaN)).toThrow('cannot convert float NaN to integer');
    expect(() => pyFloat(10n ** 400n)).toThrow('int too large to convert to float');
    expect(() => pyInt('1'.repeat(4301))).toThrow('value has 4301 digits');
  });
});
