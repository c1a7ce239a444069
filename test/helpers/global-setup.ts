import { TEMPORAL_CLI, TEMPORAL_TEST_SERVER } from '../../shared/temporal-binary/binary-kinds.js';
import { findBinary } from '../../shared/temporal-binary/find-binary.js';

/** Fetches Temporal's programs before the first test, so that no test's time limit has to cover a download. */
export default async function setup(): Promise<void> {
  for (const kind of [TEMPORAL_CLI, TEMPORAL_TEST_SERVER]) {
    await findBinary(kind, { notice: (text) => console.log(text) }).catch((error: Error) =>
      console.warn(`${error.message}\nTests that need it will fail.`)
    );
  }
}
