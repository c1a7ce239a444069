import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { onAbort } from '../../../shared/inference/on-abort.js';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('onAbort', () => {
  it('calls every callback once, through one listener', () => {
    const stop = new AbortController();
    const called: number[] = [];
    for (const each of [1, 2, 3]) onAbort(stop.signal, () => called.push(each));
    const forget = onAbort(stop.signal, () => called.push(4));
    forget();
    expect(listeners(stop.signal)).toBe(1);
    stop.abort();
    expect(called).toEqual([1, 2, 3]);
  });

  it('leaves no listener when the last callback was taken back, so that Node lets a composed signal go', () => {
    const signal = AbortSignal.any([new AbortController().signal, new AbortController().signal]);
    const forget = [1, 2].map(() => onAbort(signal, () => undefined));
    forget[0]?.();
    expect(listeners(signal)).toBe(1);
    forget[1]?.();
    expect(listeners(signal)).toBe(0);
  });

  it('is not deaf to those that come after one was taken back twice', () => {
    const stop = new AbortController();
    const first = onAbort(stop.signal, () => undefined);
    first();
    let called = 0;
    onAbort(stop.signal, () => (called += 1));
    first();
    stop.abort();
    expect(called).toBe(1);
  });

  it('without a signal there is nothing to take back', () => {
    expect(onAbort(undefined, () => expect.unreachable())()).toBeUndefined();
  });
});
