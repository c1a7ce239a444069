/** Rejects when the process is asked to end, so that a script's `finally` takes down what it started. */
export function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => reject(new Error(`ended by ${signal}`)));
  });
}
