import { describe, expect, it } from 'vitest';
import { modelColour, stepTicks } from '../../../shared/report/charts/figure.js';

describe('charts', () => {
  it('have whole steps at their ticks', () => {
    expect(stepTicks(1, 10)).toEqual([0, 1]);
    expect(stepTicks(3, 10)).toEqual([0, 1, 2, 3]);
    expect(stepTicks(99, 10)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    expect(stepTicks(99, 5)).toEqual([0, 20, 40, 60, 80]);
    expect(stepTicks(1234, 5)).toEqual([0, 500, 1000]);
  });

  it('give the base grey and each arm its own colour, six at most', () => {
    const models = ['base', 'relax', 'vime', 'c', 'd', 'e', 'f', 'g'];
    expect(models.map((model) => modelColour(models, model))).toEqual([
      'var(--base)',
      ...[0, 1, 2, 3, 4, 5, 0].map((arm) => `var(--arm-${arm})`),
    ]);
  });
});
