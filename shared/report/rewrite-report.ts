import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeFileAtomic } from '../artifacts/atomic-file.js';
import type { Manifest } from '../artifacts/manifest.js';
import { MANIFEST_FILE, STORE_FOLDER } from '../artifacts/run-paths.js';
import { RunStore } from '../artifacts/run-store.js';
import { UserError } from '../contracts/user-error.js';
import { renderReport } from './report.js';

const REPORT_FILE = 'report.html';

/**
 * Makes a run's `report.html` again. A finished run stays whole: a report that differs from the listed one (made by another
 * version of the product) is published anew, manifest included; in a copy of a run, which has no store beside it, nothing is
 * changed.
 *
 * @param directory absolute folder of the run
 * @returns path of the report
 * @throws UserError in a copy whose report would differ; PipelineError `DataInvalid` when it is not a run's folder
 */
export async function rewriteReport(directory: string): Promise<string> {
  const path = join(directory, REPORT_FILE);
  const page = await renderReport(directory);
  const manifest = await readManifest(directory);
  const listed = manifest?.files.find((file) => file.path === REPORT_FILE);
  const sha256 = createHash('sha256').update(page).digest('hex');
  if (manifest === undefined || listed === undefined || listed.sha256 === sha256) {
    await writeFileAtomic(path, page);
    return path;
  }
  if (!existsSync(join(dirname(directory), STORE_FOLDER)))
    throw new UserError(`the manifest of ${directory} lists another report, made by another version`, {
      cure: 'Nothing was changed, because this is a copy of a run. Give --out FILE to write the report of this version beside it.',
    });
  const store = await RunStore.open(dirname(directory), manifest.pipelineId);
  const inputs = manifest.files.filter((file) => listed.inputs?.some((input) => input.path === file.path));
  const producer = { activity: 'memagent report', attempt: 1, codeVersion: listed.producer?.codeVersion ?? '' };
  await store.publish(REPORT_FILE, page, { kind: 'report', inputs, producer });
  await store.writeManifest();
  return path;
}

async function readManifest(directory: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, MANIFEST_FILE), 'utf8')) as Manifest;
  } catch {
    // A run that is not finished has none; a torn one is for `verify` to report.
    return undefined;
  }
}
