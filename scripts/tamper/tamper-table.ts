import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { readManifest } from '../../shared/artifacts/manifest.js';
import { MANIFEST_FILE, META_FOLDER } from '../../shared/artifacts/run-paths.js';

/** What a check of a run's folder said. */
export interface Finding {
  exitCode: number;
  problems: string[];
}

/** One changed byte and what came of it. */
export interface TamperRow {
  /** Kind of artifact; `sidecar` and `manifest` are what is written about them. */
  kind: string;
  /** Relative to the run. */
  file: string;
  /** Position of the changed byte. */
  byte: number;
  exitCode: number;
  /** First problem that names the file; undefined when none does. */
  sentence: string | undefined;
}

/**
 * Changes one byte in one file of each kind of a run, one after the other in a copy, and lets the run be checked each time.
 *
 * @param check of a run's folder, as `memagent verify` does it
 * @param onRow called as each file is done
 */
export async function tamperTable(
  directory: string,
  check: (directory: string) => Promise<Finding>,
  onRow: (row: TamperRow) => void = () => undefined
): Promise<TamperRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'memagent-tamper-'));
  const copy = join(folder, basename(directory));
  try {
    await cp(directory, copy, { recursive: true });
    const rows: TamperRow[] = [];
    for (const { kind, file } of await targets(copy)) {
      const row = { kind, file, ...(await tamperWith(copy, file, check)) };
      rows.push(row);
      onRow(row);
    }
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One file of each kind and form of name, the sidecar of one of them, and the manifest. */
async function targets(directory: string): Promise<{ kind: string; file: string }[]> {
  const { files } = await readManifest(directory);
  const chosen = new Map<string, { kind: string; file: string }>();
  for (const { path, kind, bytes } of files)
    // An empty file (a held-out set of no prompts) has no byte to change.
    if (bytes > 0) chosen.set(`${kind}\n${formOf(path)}`, { kind, file: path });
  const targets = [...chosen.values()].sort((a, b) => (a.kind + a.file < b.kind + b.file ? -1 : 1));
  const described = files.find(({ artifact, producer }) => artifact === undefined && producer !== null);
  const sidecar = described === undefined ? [] : [{ kind: 'sidecar', file: `${META_FOLDER}/${described.path}.json` }];
  return [...targets, ...sidecar, { kind: 'manifest', file: MANIFEST_FILE }];
}

/** Files that differ only in a number or in whose they are have one form. */
function formOf(path: string): string {
  const name = basename(path).replace(/\d+/g, '#');
  return /\.(parquet|jsonl|safetensors)$|\.summary\.json$/.test(name) ? name.replace(/^[^.]*/, '*') : name;
}

async function tamperWith(
  directory: string,
  file: string,
  check: (directory: string) => Promise<Finding>
): Promise<Pick<TamperRow, 'byte' | 'exitCode' | 'sentence'>> {
  const path = join(directory, file);
  const before = await readFile(path);
  const byte = Math.floor(before.length / 2);
  const changed = Buffer.from(before);
  changed[byte] = (changed[byte] ?? 0) ^ 0x01;
  await writeFile(path, changed);
  const { exitCode, problems } = await check(directory);
  await writeFile(path, before);
  return { byte, exitCode, sentence: problems.find((problem) => problem.includes(file)) };
}

/** The rows as a Markdown table. */
export function tamperMarkdown(rows: readonly TamperRow[]): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [
    line(['kind', 'file', 'form', 'byte changed', 'exit code', 'what verify says']),
    line(['---', '---', '---', '--:', '--:', '---']),
    ...rows.map(({ kind, file, byte, exitCode, sentence }) =>
      line([
        kind,
        `\`${file}\``,
        extname(file).slice(1) || '–',
        String(byte),
        String(exitCode),
        sentence === undefined ? '**nothing that names the file**' : shortened(sentence),
      ])
    ),
  ].join('\n');
}

/** Hashes and long values do not help whoever reads the table. */
function shortened(sentence: string): string {
  return sentence.replace(/\b([0-9a-f]{8})[0-9a-f]{56}\b/g, '$1…').slice(0, 200);
}

/** Whether every changed byte ended the check with 1 and was named. */
export function allFound(rows: readonly TamperRow[]): boolean {
  return rows.every(({ exitCode, sentence }) => exitCode === 1 && sentence !== undefined);
}
