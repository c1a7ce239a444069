import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { VerifyReport } from '../shared/artifacts/verify.js';
import { entryPath } from '../shared/runtime/entry.js';
import { allFound, tamperMarkdown, tamperTable, type Finding } from './tamper/tamper-table.js';

/**
 * `make tamper RUN=folder`: changes one byte in each kind of file of a copy of a finished run and prints what `memagent verify`
 * said of it. Ends with 1 when a change was not found, or not named.
 */

const LARGEST_OUTPUT = 64 * 1024 * 1024;

async function verify(directory: string): Promise<Finding> {
  const args = [entryPath('cli/main.js'), 'verify', directory, '--json'];
  const ended = await promisify(execFile)(process.execPath, args, { maxBuffer: LARGEST_OUTPUT }).then(
    ({ stdout }) => ({ exitCode: 0, stdout }),
    (error: { code?: unknown; stdout?: string }) => ({ exitCode: Number(error.code), stdout: error.stdout ?? '' })
  );
  return { exitCode: ended.exitCode, problems: problemsOf(ended.stdout) };
}

function problemsOf(text: string): string[] {
  try {
    return (JSON.parse(text) as VerifyReport).checks.flatMap(({ problems }) => problems);
  } catch {
    return [];
  }
}

const [run] = process.argv.slice(2);
if (run === undefined) {
  console.error('give the folder of a finished run: make tamper RUN=runs/my-run');
  process.exitCode = 2;
} else {
  const rows = await tamperTable(resolve(run), verify, ({ kind, file }) => console.error(`${kind}: ${file}`));
  console.log(tamperMarkdown(rows));
  process.exitCode = allFound(rows) ? 0 : 1;
}
