import { describe, expect, it } from 'vitest';
import { promptRows } from '../../../shared/grpo/prompt-schedule.js';

describe('the prompt schedule', () => {
  it('visits every row once in each epoch, whatever the step size', () => {
    const rows: number[] = [];
    for (let step = 0; step < 10; step += 1) rows.push(...promptRows(step, 3, 15, 42));
    expect([...rows.slice(0, 15)].sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, index) => index));
    expect([...rows.slice(15)].sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, index) => index));
    expect(rows.slice(0, 15)).not.toEqual(rows.slice(15));
  });

  it('is a function of the step alone, so a resumed run neither skips nor repeats data', () => {
    expect(promptRows(7, 8, 100, 42)).toEqual(promptRows(7, 8, 100, 42));
    expect(promptRows(7, 8, 100, 42)).not.toEqual(promptRows(7, 8, 100, 43));
  });

  it('crosses the end of an epoch inside one step', () => {
    const rows = promptRows(1, 4, 5, 1);
    const epochs = [...promptRows(0, 5, 5, 1), ...promptRows(1, 5, 5, 1)];
    expect(rows).toEqual(epochs.slice(4, 8));
  });

  it('handles a data set smaller than one step and refuses an empty one', () => {
    expect(promptRows(0, 5, 2, 1)).toHaveLength(5);
    expect(() => promptRows(0, 5, 0, 1)).toThrow(/no rows/);
  });
});
