import { describe, expect, it } from 'vitest';
import { LAPTOP_KEYS, LAPTOP_VALUES, laptopFact, laptopQuestion } from '../../../shared/data/laptop-task.js';

describe('the laptop task’s vocabulary', () => {
  it('has 64 distinct lower-case words, none of which ends another', () => {
    expect(LAPTOP_KEYS).toHaveLength(64);
    expect(new Set(LAPTOP_KEYS).size).toBe(64);
    for (const key of LAPTOP_KEYS) {
      expect(key).toMatch(/^[a-z]{3,10}$/);
      expect(LAPTOP_KEYS.filter((other) => other !== key && other.endsWith(key))).toEqual([]);
    }
  });

  it('has the 100 two-digit values in order', () => {
    expect(LAPTOP_VALUES).toHaveLength(100);
    expect(LAPTOP_VALUES[0]).toBe('00');
    expect(LAPTOP_VALUES[7]).toBe('07');
    expect(LAPTOP_VALUES[99]).toBe('99');
  });

  it('writes a fact so that the question is its beginning', () => {
    expect(laptopFact('amber', '47')).toBe('amber=47;\n');
    expect(laptopFact('amber', '47').startsWith(laptopQuestion('amber'))).toBe(true);
  });
});
