interface Hub {
  callbacks: Set<() => void>;
  fire: () => void;
}

const hubs = new WeakMap<AbortSignal, Hub>();

/**
 * Calls back once when a signal is aborted. Any number of callbacks share one listener of the signal: hundreds of requests
 * watch one cancellation, and Node takes more than ten listeners for a leak. With the last callback the listener goes too: Node
 * keeps a signal of `AbortSignal.any` that is listened to for as long as the process lives, and with it all that its listener holds.
 *
 * @returns a function that takes the callback back, at constant cost
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined;
  const hub = hubs.get(signal) ?? openHub(signal);
  hub.callbacks.add(callback);
  return () => {
    // Taken back twice, it must not close the hub of those that came since.
    if (hub.callbacks.delete(callback) && hub.callbacks.size === 0) closeHub(signal, hub);
  };
}

function openHub(signal: AbortSignal): Hub {
  const callbacks = new Set<() => void>();
  const fire = (): void => {
    const all = [...callbacks];
    callbacks.clear();
    for (const each of all) each();
  };
  const hub = { callbacks, fire };
  hubs.set(signal, hub);
  signal.addEventListener('abort', fire, { once: true });
  return hub;
}

function closeHub(signal: AbortSignal, { fire }: Hub): void {
  hubs.delete(signal);
  signal.removeEventListener('abort', fire);
}
