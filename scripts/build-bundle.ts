/** Bundles the workflows once, so that every worker starts with the same code: dist/workflow-bundle.js. */
import { join } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
import { writeFileAtomic } from '../shared/artifacts/atomic-file.js';
import { entryPath, packageRoot } from '../shared/runtime/entry.js';

const { code } = await bundleWorkflowCode({
  workflowsPath: entryPath('workflows/index.js'),
  logger: {
    log: () => undefined,
    trace: () => undefined,
    debug: () => undefined,
    info: () => undefined,
    warn: (message) => console.warn(message),
    error: (message) => console.error(message),
  },
});
const path = join(packageRoot(), 'dist', 'workflow-bundle.js');
await writeFileAtomic(path, code);
console.log(`${path} (${Math.round(code.length / 1024)} KB)`);
