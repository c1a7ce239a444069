import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity } from '../shared/runtime/process-identity.js';
import { writeFileAtomic } from '../shared/artifacts/atomic-file.js';

/** What a running development stack writes down, so that other commands find it. */
export interface StackState {
  /** Process that owns the stack. */
  owner: ProcessIdentity;
  address: string;
  namespace: string;
  uiUrl?: string;
  startedAt: string;
}

/** Folder of the development stack’s own files: database, logs, state. */
export function stackFolder(runsRoot: string): string {
  return join(runsRoot, '.temporal');
}

function statePath(runsRoot: string): string {
  return join(stackFolder(runsRoot), 'stack.json');
}

export async function readStackState(runsRoot: string): Promise<StackState | undefined> {
  try {
    return JSON.parse(await readFile(statePath(runsRoot), 'utf8')) as StackState;
  } catch {
    return undefined;
  }
}

export async function writeStackState(runsRoot: string, state: StackState): Promise<void> {
  await writeFileAtomic(statePath(runsRoot), `${JSON.stringify(state, null, 2)}\n`);
}

export async function removeStackState(runsRoot: string): Promise<void> {
  await rm(statePath(runsRoot), { force: true });
}

/** Whether the very process that wrote the state is still there. */
export function isOwnerAlive(state: StackState): boolean {
  return isAlive(state.owner);
}
