import { expect, it } from 'vitest';
import { setBounded } from '../../../shared/runtime/bounded-map.js';

it('a full map gives up its oldest entry for a new one, and none for a new value', () => {
  const map = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  setBounded(map, 'a', 3, 2);
  expect([...map]).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
  setBounded(map, 'c', 4, 2);
  expect([...map.keys()]).toEqual(['b', 'c']);
});
