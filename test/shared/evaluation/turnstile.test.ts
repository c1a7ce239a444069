import { expect, it } from 'vitest';
import { Turnstile } from '../../../shared/evaluation/turnstile.js';

/** Holds the event loop for longer than a slice. */
function work(): void {
  const end = performance.now() + 12;
  while (performance.now() < end);
}

it('lets other things happen between pieces of work that come at once, first come first served', async () => {
  const turnstile = new Turnstile();
  const seen: string[] = [];
  let isOver = false;
  const others = (): void => {
    seen.push('other');
    if (!isOver) setImmediate(others);
  };
  setImmediate(others);
  const pieces = ['a', 'b', 'c'].map(async (name) => {
    await turnstile.pass();
    work();
    seen.push(name);
  });
  await Promise.all(pieces);
  isOver = true;
  expect(seen.filter((name) => name !== 'other')).toEqual(['a', 'b', 'c']);
  expect(seen.join(' ')).toMatch(/a (other )+b (other )+c/);
});
