import { access, constants, stat } from 'node:fs/promises';
import { versionAtLeast, type BinaryKind } from './binary-kinds.js';
import { lastLines, runProgram } from './run-program.js';

export type Probe = { ok: true; version: string } | { ok: false; reason: string };

/** A cold start from a slow disk takes seconds; a program that hangs must not hang us. Unit: milliseconds. */
const PROBE_LIMIT_MS = 30_000;

/** Runs a program to learn whether it is the right one for this machine: a file alone may be for another platform, or torn. */
export async function probeBinary(path: string, kind: BinaryKind): Promise<Probe> {
  try {
    if (!(await stat(path)).isFile()) return { ok: false, reason: 'is not a file' };
    await access(path, constants.X_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return {
      ok: false,
      reason: code === 'ENOENT' ? 'does not exist' : `cannot be executed (${code ?? String(error)})`,
    };
  }
  const result = await runProgram(path, ['--version'], { timeoutMs: PROBE_LIMIT_MS });
  const version = kind.readVersion(result.output);
  if (version === undefined) {
    const said = result.error ?? lastLines(result.output, 1);
    return { ok: false, reason: `does not answer like ${kind.name} (${said === '' ? 'no output' : said})` };
  }
  if (kind.minimum !== undefined && !versionAtLeast(version, kind.minimum))
    return { ok: false, reason: `is version ${version}, ${kind.minimum} or newer is needed` };
  return { ok: true, version };
}
