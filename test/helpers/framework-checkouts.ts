import { execFileSync } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../shared/runtime/entry.js';

/** A checkout of a stand-in of a framework, as a recipe's arm names it. */
export interface Checkout {
  path: string;
  commit: string;
}

const AUTHOR = ['-c', 'user.name=test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];

/** Runs git in a checkout. */
export function git(path: string, ...args: string[]): string {
  return execFileSync('git', [...AUTHOR, '-C', path, ...args], { encoding: 'utf8' }).trim();
}

/** Copies of the programs that imitate Relax and VIME, each with a commit of its own that a recipe can pin. */
export async function frameworkCheckouts(folder: string): Promise<Record<'relax' | 'vime', Checkout>> {
  await cp(join(packageRoot(), 'test', 'fixtures', 'frameworks'), folder, { recursive: true });
  const checkout = async (name: string): Promise<Checkout> => {
    const path = join(folder, name);
    // As the frameworks' own: what Python leaves beside the sources is no change of them.
    await writeFile(join(path, '.gitignore'), '__pycache__/\n');
    git(path, 'init', '--quiet');
    git(path, 'add', '.');
    git(path, 'commit', '--quiet', '--message', 'the pinned commit');
    return { path, commit: git(path, 'rev-parse', 'HEAD') };
  };
  return { relax: await checkout('relax'), vime: await checkout('vime') };
}
