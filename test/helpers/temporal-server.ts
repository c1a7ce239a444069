import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { TEMPORAL_CLI, TEMPORAL_TEST_SERVER, type BinaryKind } from '../../shared/temporal-binary/binary-kinds.js';
import { findBinary } from '../../shared/temporal-binary/find-binary.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../../workers/search-attributes.js';
import { budgetConverter } from './payload-budget.js';

/** The SDK reports every state of every worker; a test's output is for what went wrong. Can be set up once in a process. */
function quietRuntime(): void {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { forward: {} } } });
  } catch {
    // Another file of this process has done it.
  }
}

async function executable(kind: BinaryKind): Promise<{ type: 'existing-path'; path: string }> {
  return { type: 'existing-path', path: (await findBinary(kind)).path };
}

/** A real Temporal server of this test file alone, with the package's search attributes. Call `teardown()` at the end. */
export async function localEnvironment(): Promise<TestWorkflowEnvironment> {
  quietRuntime();
  const searchAttributes = Object.entries(SEARCH_ATTRIBUTE_TYPES).map(([name, type]) =>
    defineSearchAttributeKey(name, SearchAttributeType[type])
  );
  return await TestWorkflowEnvironment.createLocal({
    client: { dataConverter: budgetConverter },
    server: {
      executable: await executable(TEMPORAL_CLI),
      searchAttributes,
      log: { format: 'json', level: 'error' },
    },
  });
}

/** The test server that skips time while nothing but timers is pending. */
export async function timeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  quietRuntime();
  return await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: await executable(TEMPORAL_TEST_SERVER) },
  });
}
