import { open, readFile } from 'node:fs/promises';
import { EXIT, UserError } from '../contracts/user-error.js';
import { isRecord } from '../inference/reply-checks.js';
import { conditionDifferences, type Conditions } from './conditions.js';
import type { EvaluationSettings } from './settings.js';

/** The first line of a working file has its conditions: a few KB. */
const HEADER_BYTES = 256 * 1024;

/**
 * Refuses to go on when the files already hold results, finished or not, of other settings: a mistyped option must not cost
 * hours of samples.
 *
 * @throws UserError that lists every difference
 */
export async function refuseOtherResults(
  paths: { summaryPath: string; workingPath: string },
  settings: EvaluationSettings,
  now: Conditions
): Promise<void> {
  const working = await readWorkingHeader(paths.workingPath);
  if (working !== undefined && working.sha256 !== settings.sha256)
    throw refusal(paths.workingPath, 'unfinished results', working.conditions, now);
  const summary = await readRecord(paths.summaryPath);
  if (summary !== undefined && summary['settings_sha256'] !== settings.sha256)
    throw refusal(paths.summaryPath, 'results', summary, now);
}

function refusal(path: string, what: string, stored: Partial<Conditions>, now: Conditions): UserError {
  const problems = conditionDifferences(stored, now);
  return new UserError(`${path} holds ${what} of other settings`, {
    problems: problems.length === 0 ? ['they were made with other data, weights or sampling settings'] : problems,
    cure: 'Repeat the settings to go on with them, or give another --out or --run-name; delete the file to begin anew.',
    exitCode: EXIT.usage,
  });
}

async function readWorkingHeader(
  path: string
): Promise<{ sha256: unknown; conditions: Partial<Conditions> } | undefined> {
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const [line = ''] = buffer.toString('utf8', 0, bytesRead).split('\n', 1);
    const header = parseRecord(line);
    if (header === undefined) return undefined;
    const conditions = header['conditions'];
    return {
      sha256: header['evaluation'],
      conditions: isRecord(conditions) ? (conditions as Partial<Conditions>) : {},
    };
  } finally {
    await handle.close();
  }
}

async function readRecord(path: string): Promise<Record<string, unknown> | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : parseRecord(text);
}

function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
