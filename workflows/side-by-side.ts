import { CancellationScope } from '@temporalio/workflow';

/**
 * Runs tasks side by side. When one fails the others are cancelled and waited for (they stop their engines), and the first
 * failure is thrown.
 */
export async function allOrFirstFailure<T>(tasks: (() => Promise<T>)[]): Promise<T[]> {
  const scope = new CancellationScope();
  return await scope.run(async () => {
    let first: { error: unknown } | undefined;
    const settled = await Promise.allSettled(
      tasks.map(async (task) => {
        try {
          return await task();
        } catch (error) {
          first ??= { error };
          scope.cancel();
          throw error;
        }
      })
    );
    if (first !== undefined) throw first.error;
    return settled.map((result) => (result as PromiseFulfilledResult<T>).value);
  });
}
