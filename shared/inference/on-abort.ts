const hubs = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back once when a signal is aborted. Any number of callbacks share one listener of the signal: hundreds of requests
 * watch one cancellation, and Node takes more than ten listeners for a leak.
 *
 * @returns a function that takes the callback back, at constant cost
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined;
  let hub = hubs.get(signal);
  if (hub === undefined) {
    const created = new Set<() => void>();
    hub = created;
    hubs.set(signal, created);
    const fire = (): void => {
      const callbacks = [...created];
      created.clear();
      for (const each of callbacks) each();
    };
    signal.addEventListener('abort', fire, { once: true });
  }
  const own = hub;
  own.add(callback);
  return () => own.delete(callback);
}
