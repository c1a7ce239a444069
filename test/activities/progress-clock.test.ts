import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ProgressClock, type WatchdogSettings } from '../../activities/progress-clock.js';

const LOOK_MS = 1_000;
const settings: WatchdogSettings = {
  mode: 'fail',
  firstStepFactor: 3,
  limits: { data: 600, rollout: 10, restore: 300, train: 20, checkpoint: 180, evaluate: 180 },
};

/** A clock of a place of its own, and a way to let time pass with a look every second. */
function clock(
  ceiling = 1e9,
  place: string = randomUUID()
): { clock: ProgressClock; pass: (seconds: number) => unknown } {
  let now = 0;
  const made = new ProgressClock(settings, place, LOOK_MS, ceiling, now);
  const pass = (seconds: number): unknown => {
    for (let second = 0; second < seconds; second += 1) {
      const stall = made.look((now += LOOK_MS));
      if (stall !== undefined) return { ...stall, after: second + 1 };
    }
    return undefined;
  };
  return { clock: made, pass };
}

describe('the clock of progress', () => {
  it('gives the first piece of a phase the recipe’s grace, and later ones the plain limit', () => {
    const { clock: one, pass } = clock();
    one.take({ phase: 'rollout', done: 0 });
    expect(pass(29)).toBeUndefined();
    one.take({ phase: 'rollout', done: 1 });
    expect(pass(9)).toBeUndefined();
    one.take({ phase: 'rollout', done: 2 });
    expect(pass(60)).toEqual({ phase: 'rollout', seconds: 10, limit: 10, after: 10 });
  });

  it('remembers over the attempts of a place that the first piece is done', () => {
    const place = randomUUID();
    const first = clock(1e9, place);
    first.clock.take({ phase: 'train', step: 0 });
    first.clock.finishPiece();
    const second = clock(1e9, place);
    second.clock.take({ phase: 'train', step: 1 });
    expect(second.pass(60)).toMatchObject({ limit: 20 });
  });

  it('takes the same report again, however often, for no progress', () => {
    const { clock: one, pass } = clock();
    for (let second = 0; second < 29; second += 1) {
      one.take({ phase: 'rollout', done: 5 });
      expect(pass(1)).toBeUndefined();
    }
    expect(pass(1)).toMatchObject({ phase: 'rollout' });
  });

  it('does not count time in which nobody looked: being held up is no stall of the work', () => {
    const { clock: one } = clock();
    one.take({ phase: 'rollout', done: 0 });
    expect(one.look(1_000)).toBeUndefined();
    expect(one.look(3_600_000)).toBeUndefined();
    expect(one.look(3_601_000)).toBeUndefined();
  });

  it('ends an attempt before its time-out would, and never watches a phase without a limit', () => {
    const { clock: one, pass } = clock(5);
    one.take({ phase: 'start' });
    expect(pass(1_000)).toBeUndefined();
    one.take({ phase: 'train', step: 0 });
    expect(pass(60)).toMatchObject({ limit: 5, after: 5 });
  });
});
