import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageRoot } from '../runtime/entry.js';
import type { BinaryKind } from './binary-kinds.js';
import { lastLines, runProgram } from './run-program.js';

const DOWNLOAD_LIMIT_MS = 10 * 60_000;

/**
 * The SDK downloads a server's executable when it starts one; this starts one in a child process (the SDK's run time can be set
 * up only once in a process), stops it and keeps the file.
 *
 * @throws Error with what the SDK said
 */
export async function downloadWithSdk(kind: BinaryKind, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), `${kind.name}-download-`));
  try {
    const script = `
      const { TestWorkflowEnvironment } = await import('@temporalio/testing');
      const server = { executable: { type: 'cached-download', downloadDir: ${JSON.stringify(folder)} } };
      await (await TestWorkflowEnvironment.${kind.sdkServer}({ server })).teardown();
      process.exit(0);`;
    const options = { timeoutMs: DOWNLOAD_LIMIT_MS, cwd: packageRoot() };
    const result = await runProgram(process.execPath, ['--input-type=module', '-e', script], options);
    const file = (await readdir(folder)).find((name) => name.startsWith('temporal'));
    if (result.code !== 0 || file === undefined) throw new Error(result.error ?? firstError(result.output));
    const aside = join(folder, 'executable');
    await copyFile(join(folder, file), aside);
    await chmod(aside, 0o755);
    await rename(aside, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function firstError(output: string): string {
  return /^.*Error: (.*)$/m.exec(output)?.[1]?.slice(0, 300) ?? lastLines(output, 1);
}
