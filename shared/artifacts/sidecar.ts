import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARTIFACT_KINDS, type ArtifactKind, type ArtifactRef } from '../contracts/artifact.js';
import { writeFileAtomic } from './atomic-file.js';
import { listFiles, type FileFacts } from './hash-cache.js';
import { META_FOLDER } from './run-paths.js';

/** Who made an artifact. */
export interface Producer {
  /** Activity type, e.g. `generateRollouts`. */
  activity: string;
  /** Attempt that published it, from 1. */
  attempt: number;
  /** Version of the stage's code, e.g. `rollout-1`. */
  codeVersion: string;
}

/** What is known of a published artifact beside its bytes: `<run>/.meta/<path>.json`. Its presence says "complete". */
export interface Sidecar extends ArtifactRef {
  inputs: { path: string; sha256: string }[];
  producer: Producer;
  /** Files of a folder artifact, sorted by name; absent for a file. */
  files?: FileFacts[];
  /** Run that made it first, when it was taken over. */
  reusedFrom?: string;
}

/** Absolute path of the sidecar of an artifact. */
export function sidecarPath(runDirectory: string, relative: string): string {
  return join(runDirectory, META_FOLDER, `${relative}.json`);
}

/** The text of a sidecar file. */
export function sidecarText(sidecar: Sidecar): string {
  return `${JSON.stringify(sidecar, null, 2)}\n`;
}

export async function writeSidecar(runDirectory: string, sidecar: Sidecar): Promise<void> {
  await writeFileAtomic(sidecarPath(runDirectory, sidecar.path), sidecarText(sidecar));
}

/** The sidecar of a path; undefined when there is none or it is not whole. */
export async function readSidecar(runDirectory: string, relative: string): Promise<Sidecar | undefined> {
  let text: string;
  try {
    text = await readFile(sidecarPath(runDirectory, relative), 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  return parseSidecar(text, relative);
}

function parseSidecar(text: string, relative: string): Sidecar | undefined {
  let value: Partial<Sidecar> | null;
  try {
    value = JSON.parse(text) as Partial<Sidecar> | null;
  } catch {
    return undefined;
  }
  const whole =
    value?.path === relative &&
    typeof value.sha256 === 'string' &&
    typeof value.bytes === 'number' &&
    (ARTIFACT_KINDS as readonly unknown[]).includes(value.kind) &&
    Array.isArray(value.inputs) &&
    typeof value.producer?.activity === 'string';
  return whole ? (value as Sidecar) : undefined;
}

/** All sidecars of a run, sorted by path. */
export async function readSidecars(runDirectory: string): Promise<Sidecar[]> {
  let names: string[];
  try {
    names = await listFiles(join(runDirectory, META_FOLDER));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const sidecars: Sidecar[] = [];
  for (const name of names.filter((each) => each.endsWith('.json'))) {
    const sidecar = await readSidecar(runDirectory, name.slice(0, -'.json'.length));
    if (sidecar !== undefined) sidecars.push(sidecar);
  }
  return sidecars;
}

/** The four fields that activities pass on. */
export function refOf({ path, sha256, bytes, kind }: ArtifactRef): ArtifactRef {
  return { path, sha256, bytes, kind };
}

/** What a new artifact is described by. */
export interface Description {
  kind: ArtifactKind;
  inputs: readonly ArtifactRef[];
  producer: Producer;
}
