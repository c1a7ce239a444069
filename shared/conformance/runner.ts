import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import { CHECKERS } from './registry.js';
import { describeError, type CaseResult, type Checker, type ConformanceCase, type FileResult } from './types.js';

/** Folders of the case folder that hold case files too. */
const SUBFOLDERS = ['policy'];

/**
 * Runs every case file (`*.json`) of a folder, and of its `policy` subfolder, against this implementation.
 *
 * A case file without a checker and a checker that throws are failures: nothing is skipped.
 *
 * @param directory the case folder, or its `policy` subfolder itself
 * @param checkers default: all
 * @throws PipelineError DataInvalid when the folder cannot be read or holds no case file
 */
export async function runConformance(
  directory: string,
  checkers: readonly Checker[] = CHECKERS
): Promise<FileResult[]> {
  const root = resolve(directory);
  const files = await caseFiles(root);
  if (files.length === 0) {
    throw new PipelineError('DataInvalid', `no case file (*.json) in ${root}: give the folder that holds the cases`, {
      where: root,
    });
  }
  const results: FileResult[] = [];
  for (const file of files) results.push(await runFile(root, file, checkers));
  return results;
}

async function caseFiles(root: string): Promise<string[]> {
  const top = await jsonFiles(root);
  if (top === null) {
    throw new PipelineError('DataInvalid', `cannot read the case folder ${root}: does it exist?`, { where: root });
  }
  const below = await Promise.all(
    SUBFOLDERS.map(async (name) => ((await jsonFiles(join(root, name))) ?? []).map((file) => `${name}/${file}`))
  );
  return [...top, ...below.flat()];
}

async function jsonFiles(directory: string): Promise<string[] | null> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const names = entries.filter((entry) => !entry.isDirectory() && entry.name.endsWith('.json'));
    return names.map((entry) => entry.name).sort();
  } catch {
    return null;
  }
}

/** `file` is relative to `root`; a checker of `policy/x.json` also answers for `x.json` when `root` is the policy folder. */
function findChecker(root: string, file: string, checkers: readonly Checker[]): Checker | undefined {
  const exact = checkers.find((checker) => checker.file === file);
  if (exact !== undefined || file.includes('/')) return exact;
  const folder = root.split(/[\\/]/).at(-1);
  return checkers.find((checker) => checker.file === `${folder}/${file}`);
}

async function runFile(root: string, file: string, checkers: readonly Checker[]): Promise<FileResult> {
  const path = join(root, ...file.split('/'));
  try {
    const text = await readFile(path, 'utf8');
    const document: unknown = JSON.parse(text);
    if (typeof document !== 'object' || document === null) return broken(file, 1, 'not a JSON object');
    const record = document as Record<string, unknown>;
    const cases = Array.isArray(record['cases']) ? (record['cases'] as ConformanceCase[]) : [];
    const checker = findChecker(root, file, checkers);
    if (checker === undefined) return broken(file, Math.max(1, cases.length), 'no checker for this case file');
    return await check(checker, file, cases, { path, directory: join(path, '..'), text, document: record });
  } catch (error) {
    return broken(file, 1, describeError(error));
  }
}

async function check(
  checker: Checker,
  file: string,
  cases: ConformanceCase[],
  context: Parameters<Checker['check']>[1]
): Promise<FileResult> {
  let results: CaseResult[];
  try {
    results = await checker.check(cases, context);
  } catch (error) {
    return broken(file, Math.max(1, cases.length), `the checker threw ${describeError(error)}`);
  }
  // A checker that answers for fewer cases than the file has would hide the others.
  if (results.length < Math.max(1, cases.length)) {
    return broken(
      file,
      Math.max(1, cases.length),
      `the checker answered for ${results.length} of ${cases.length} cases`
    );
  }
  const failures = results.filter((result) => result.differences.length > 0);
  const passed = results.length - failures.length;
  return { file, total: results.length, passed, failed: failures.length, failures };
}

function broken(file: string, total: number, reason: string): FileResult {
  return { file, total, passed: 0, failed: total, failures: [{ id: '(file)', differences: [reason] }] };
}

/**
 * Lines for people: one a file, and below a failed file its first differences.
 *
 * @param maxCases failed cases shown for each file; default 3, each with at most 3 differences
 */
export function formatConformance(results: readonly FileResult[], maxCases = 3): string[] {
  const width = Math.max(0, ...results.map((result) => result.file.length));
  const lines: string[] = [];
  for (const result of results) {
    const verdict = result.failed === 0 ? 'ok    ' : 'FAILED';
    lines.push(`${verdict} ${result.file.padEnd(width)}  ${result.passed} passed, ${result.failed} failed`);
    for (const failure of result.failures.slice(0, maxCases)) {
      for (const difference of failure.differences.slice(0, 3)) lines.push(`         ${failure.id}: ${difference}`);
    }
  }
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  lines.push(`${results.length} files, ${passed} cases passed, ${failed} failed`);
  return lines;
}

/** True when every case of every file passed. */
export function conformancePassed(results: readonly FileResult[]): boolean {
  return results.length > 0 && results.every((result) => result.failed === 0);
}
