import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { copyFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/runtime/entry.js';
import { runProgram, type ProgramResult } from '../../shared/temporal-binary/run-program.js';

let project: string;
let bin: string;
beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'memagent-prepare-'));
  bin = join(project, 'bin');
  await mkdir(bin);
  await mkdir(join(project, 'scripts'));
  await mkdir(join(project, 'node_modules'));
  copyFileSync(join(packageRoot(), 'scripts', 'prepare.sh'), join(project, 'scripts', 'prepare.sh'));
  await writeFile(join(project, 'package-lock.json'), '{}');
  for (const tool of ['dirname', 'cat']) {
    const path = execFileSync('/bin/sh', ['-c', `command -v ${tool}`])
      .toString()
      .trim();
    await symlink(path, join(bin, tool));
  }
});
afterEach(() => rm(project, { recursive: true }));

/** Runs the script with nothing on PATH but what a test puts there. */
function prepare(): Promise<ProgramResult> {
  const env = { PATH: bin, HOME: project };
  return runProgram('/bin/sh', [join(project, 'scripts', 'prepare.sh')], { env, timeoutMs: 60_000 });
}

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, name), 0o755);
}

const realNode = (): Promise<void> => symlink(process.execPath, join(bin, 'node'));

describe('the check of prerequisites', () => {
  it('names a missing Node and how to get it', async () => {
    expect(await prepare()).toEqual({
      code: 2,
      output: expect.stringMatching(/^error: Node is not on PATH.*\nfix: .*https:\/\/nodejs\.org/) as string,
    });
  });

  it('names a Node that is too old', async () => {
    await program('node', 'if [ "$1" = --version ]; then echo v18.20.0; else exit 1; fi');
    const { code, output } = await prepare();
    expect(code).toBe(2);
    expect(output).toMatch(/^error: Node v18\.20\.0 is too old: 20\.19 or newer is needed\nfix: /);
  });

  it('names a missing npm', async () => {
    await realNode();
    const { code, output } = await prepare();
    expect(code).toBe(2);
    expect(output).toMatch(/^error: npm is not on PATH\nfix: /);
  });

  it('installs once, and again only when the lock file changes', async () => {
    await realNode();
    await program('npm', 'echo "npm $*" >> installs.txt');
    expect((await prepare()).code).toBe(0);
    expect((await prepare()).code).toBe(0);
    const installs = join(project, 'installs.txt');
    expect(await readFile(installs, 'utf8')).toBe('npm ci --no-audit --no-fund --loglevel=error\n');
    await writeFile(join(project, 'package-lock.json'), '{"changed": true}');
    expect((await prepare()).code).toBe(0);
    expect((await readFile(installs, 'utf8')).split('\n')).toHaveLength(3);
  });

  it('tries again after an installation that failed', async () => {
    await realNode();
    await program('npm', 'echo "network down" >&2; exit 1');
    const { code, output } = await prepare();
    expect(code).toBe(2);
    expect(output).toMatch(/network down\nerror: npm ci failed\nfix: /);
    await program('npm', 'echo ok >> installs.txt');
    expect((await prepare()).code).toBe(0);
    expect(await readFile(join(project, 'installs.txt'), 'utf8')).toBe('ok\n');
  });
});

describe('the Makefile', () => {
  const fixed = ['build', 'demo', 'test', 'chaos', 'lint', 'record-histories', 'clean'];

  it.each([...fixed, 'conformance', 'base'])('has the target %s, whose commands make can expand', async (target) => {
    const result = await runProgram('make', ['--dry-run', '--no-print-directory', target, 'SEED=7'], {
      cwd: packageRoot(),
      timeoutMs: 60_000,
    });
    expect(result.code, result.output).toBe(0);
    expect(result.output).not.toBe('');
    if (target === 'chaos') expect(result.output).toContain('--seed 7');
  });

  it('uses only scripts that package.json has', async () => {
    const { scripts } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const text = await readFile(join(packageRoot(), 'Makefile'), 'utf8');
    const used = [...text.matchAll(/npm run --silent ([\w:-]+)/g)].map((match) => match[1] as string);
    expect(used.length).toBeGreaterThan(4);
    for (const name of used) expect(Object.keys(scripts)).toContain(name);
  });

  it('is what .ci/run calls, and .ci/run may be executed', async () => {
    const path = join(packageRoot(), '.ci', 'run');
    const text = await readFile(path, 'utf8');
    expect(text).toMatch(/^#!\/usr\/bin\/env bash\n[\s\S]*set -euo pipefail[\s\S]*\nmake test\n$/);
    expect((await runProgram('/bin/sh', ['-c', `test -x "${path}"`], { timeoutMs: 5_000 })).code).toBe(0);
  });
});
