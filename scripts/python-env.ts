import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../shared/contracts/user-error.js';
import { memagentHome } from '../shared/temporal-binary/home.js';
import { lastLines, runProgram } from '../shared/temporal-binary/run-program.js';

/** PyTorch alone has 200 MB to 3 GB. Unit: milliseconds. */
const INSTALL_LIMIT_MS = 30 * 60_000;
const PYTHON_LIMIT_MS = 5 * 60_000;

/** A virtual environment of its own: its folder's name in the product's home, and what is installed into it. */
export interface PythonEnvironment {
  folder: string;
  packages: readonly string[];
}

/** What `make parity` and `make bench` compare with. */
const PARITY: PythonEnvironment = {
  folder: 'python-parity',
  packages: ['torch==2.14.1', 'transformers==5.19.0', 'numpy==2.3.5'],
};

/**
 * A Python that has what a script imports: `MEMAGENT_PYTHON`, else a virtual environment under the product's own home, made at
 * the first use. Nothing outside that folder is touched.
 *
 * @param modules top-level modules that must be importable
 * @param environment which virtual environment, where no Python is named. Default: the one of parity and bench
 * @returns path of the interpreter
 * @throws UserError saying what is missing and how to get it
 */
export async function pythonWith(
  modules: readonly string[],
  say: (text: string) => void,
  environment = PARITY
): Promise<string> {
  const { packages } = environment;
  const named = process.env['MEMAGENT_PYTHON'];
  if (named !== undefined && named !== '') {
    const problem = await importProblem(named, modules);
    if (problem === null) return named;
    throw new UserError(`MEMAGENT_PYTHON=${named} cannot import ${modules.join(', ')}: ${problem}`, {
      cure: `pip install ${packages.join(' ')} into it, or leave MEMAGENT_PYTHON out`,
    });
  }
  const folder = join(memagentHome(), environment.folder);
  const python = join(folder, 'bin', 'python');
  if (existsSync(python) && (await importProblem(python, modules)) === null) return python;
  say(`making a Python environment with ${packages.join(', ')} in ${folder} (once)`);
  await mkdir(memagentHome(), { recursive: true });
  await run('python3', ['-m', 'venv', '--clear', folder], PYTHON_LIMIT_MS);
  // Where the packages come from is pip's own configuration: with an index of CPU builds torch needs 200 MB, without one 3 GB.
  const pip = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--quiet'];
  await run(python, [...pip, ...packages], INSTALL_LIMIT_MS);
  const problem = await importProblem(python, modules);
  if (problem !== null) throw new UserError(`${python} cannot import ${modules.join(', ')}: ${problem}`);
  return python;
}

async function importProblem(python: string, modules: readonly string[]): Promise<string | null> {
  const result = await runProgram(python, ['-c', `import ${modules.join(', ')}`], { timeoutMs: PYTHON_LIMIT_MS });
  return result.code === 0 ? null : (result.error ?? lastLines(result.output, 1));
}

async function run(command: string, args: readonly string[], timeoutMs: number): Promise<void> {
  const result = await runProgram(command, args, { timeoutMs });
  if (result.code === 0) return;
  throw new UserError(`${command} ${args.slice(0, 3).join(' ')} failed: ${result.error ?? lastLines(result.output)}`, {
    cure: 'name a Python that has these packages: MEMAGENT_PYTHON=/path/to/python',
  });
}
