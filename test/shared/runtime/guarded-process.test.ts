import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { entryPath } from '../../../shared/runtime/entry.js';
import { startGuarded, type GuardedProcess } from '../../../shared/runtime/guarded-process.js';
import { until } from '../../workflows/support.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-guard-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const logFile = (): string => join(folder, 'log', 'program.log');

/** Starts a Node program that prints its process id first. */
function start(program: string): GuardedProcess {
  const code = `console.log(process.pid); ${program}`;
  return startGuarded(process.execPath, ['-e', code], { env: process.env, logFile: logFile() });
}

async function printedPid(): Promise<number> {
  let pid = 0;
  await until(async () => {
    const text = await readFile(logFile(), 'utf8').catch(() => '');
    pid = Number(/^(\d+)\n/.exec(text)?.[1] ?? 0);
    return pid > 0;
  }, 'the program prints its process id');
  return pid;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const FOREVER = 'setInterval(() => undefined, 1000);';

describe('a guarded process', () => {
  it('ends with the program’s own exit code, its output in the log and the log before kept', async () => {
    expect(await start('console.error("said"); process.exitCode = 7;').ended).toBe(7);
    expect(await readFile(logFile(), 'utf8')).toMatch(/^\d+\nsaid\n$/);
    expect(await start('').ended).toBe(0);
    expect(await readFile(`${logFile()}.1`, 'utf8')).toContain('said');
  });

  it('reports a program that a signal killed as 128 + its number', async () => {
    expect(await start('process.kill(process.pid, "SIGKILL");').ended).toBe(137);
  });

  it('reports a program that is not there', async () => {
    const missing = startGuarded(join(folder, 'missing'), [], { env: process.env, logFile: logFile() });
    expect(await missing.ended).toBe(127);
  });

  it('is asked to stop once, and may take its time to end well', async () => {
    const polite = start(`
      let asked = 0;
      process.on('SIGTERM', () => { asked += 1; setTimeout(() => process.exit(asked === 1 ? 5 : 6), 300); });
      ${FOREVER}`);
    const pid = await printedPid();
    await polite.stop(10_000);
    expect(await polite.ended).toBe(5);
    expect(isAlive(pid)).toBe(false);
    await polite.stop(10_000);
  });

  it('is killed with its children when it does not stop in time', async () => {
    const stubborn = start(`
      process.on('SIGTERM', () => undefined);
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => undefined); ${FOREVER}']);
      console.log('child ' + child.pid);
      ${FOREVER}`);
    const pid = await printedPid();
    await until(async () => (await readFile(logFile(), 'utf8')).includes('child '), 'the child is there');
    const child = Number(/child (\d+)/.exec(await readFile(logFile(), 'utf8'))?.[1]);
    await stubborn.stop(200);
    await until(() => !isAlive(pid) && !isAlive(child), 'both are gone');
  });

  it('does not outlive an owner that was killed', async () => {
    const owner = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { startGuarded } = await import(${JSON.stringify(entryPath('shared/runtime/guarded-process.js'))});
         startGuarded(process.execPath, ['-e', 'console.log(process.pid); ${FOREVER}'], { env: process.env, logFile: ${JSON.stringify(logFile())} });
         ${FOREVER}`,
      ],
      { stdio: 'inherit' }
    );
    const pid = await printedPid();
    expect(isAlive(pid)).toBe(true);
    owner.kill('SIGKILL');
    await until(() => !isAlive(pid), 'the program is gone');
  });

  it('does not stay behind when its guard is killed', async () => {
    const orphaned = start(FOREVER);
    const pid = await printedPid();
    const guard = Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ')[1]);
    process.kill(guard, 'SIGKILL');
    expect(await orphaned.ended).toBe(137);
    await until(() => !isAlive(pid), 'the program is gone');
  });
});
