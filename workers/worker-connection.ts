import { NativeConnection } from '@temporalio/worker';
import { refuseFast, unreachable, type TemporalTarget } from './temporal-target.js';

/**
 * The connection of workers; apart from the client's, because it loads the SDK's native part.
 *
 * @throws UserError when the server does not answer, or refuses
 */
export async function connectWorker(target: TemporalTarget): Promise<NativeConnection> {
  try {
    await refuseFast(target.address);
    return await NativeConnection.connect(target.options);
  } catch (error) {
    throw unreachable(target, error);
  }
}
