import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactKind } from '../contracts/artifact.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import { isUnfinished } from './atomic-file.js';
import { externalFolders, isExternal } from './external-checkpoints.js';
import { hashFileCached, listFiles } from './hash-cache.js';
import { MANIFEST_FILE } from './run-paths.js';
import { readSidecars, type Producer, type Sidecar } from './sidecar.js';

/** One file of a run. */
export interface ManifestFile {
  /** Relative to the run's folder, with `/`. */
  path: string;
  sha256: string;
  bytes: number;
  kind: ArtifactKind;
  /** Path of the folder artifact it belongs to; absent for an artifact that is a file. */
  artifact?: string;
  inputs?: { path: string; sha256: string }[];
  /** null: the file lies in the folder, but no activity published it. */
  producer: Producer | null;
  reusedFrom?: string;
}

/** A folder artifact (checkpoint, Hugging Face model); its hash covers names and hashes of its files. */
export interface ManifestFolder extends Omit<ManifestFile, 'artifact'> {
  producer: Producer;
  fileCount: number;
}

/** `manifest.json` of a run. */
export interface Manifest {
  schema: 1;
  pipelineId: string;
  /** SHA-256 of the manifest's own text with this field empty: a changed byte in the manifest itself is seen too. */
  checksum: string;
  files: ManifestFile[];
  folders: ManifestFolder[];
}

/** Files that no manifest lists: the manifest itself, our own folders, unfinished files. */
export function isUnlisted(name: string): boolean {
  return name.startsWith('.') || name === MANIFEST_FILE || isUnfinished(name);
}

/** The manifest of what lies in a run's folder now; every file is hashed (or known unchanged). */
export async function buildManifest(directory: string, pipelineId: string): Promise<Manifest> {
  const sidecars = await readSidecars(directory);
  const facts = new Map<string, { sha256: string; bytes: number }>();
  const single = sidecars.filter(({ files }) => files === undefined);
  const external = externalFolders(single);
  const artifacts = new Set(single.map(({ path }) => path));
  const skip = (name: string): boolean => isUnlisted(name) || isExternal(name, external, artifacts);
  const names = await listFiles(directory, (name, entry) => skip(name) || entry.isSymbolicLink());
  for (const name of names) {
    const measured = await hashUnlessGone(join(directory, name));
    if (measured !== undefined) facts.set(name, measured);
  }
  const owners = ownersOf(sidecars);
  const files = [...facts].map(([path, measured]) => describeFile(path, measured, owners.get(path)));
  const folders = sidecars
    .filter(({ path, files: members }) => members?.every((file) => isWhole(facts.get(`${path}/${file.name}`), file)))
    .map(({ files: members = [], ...rest }): ManifestFolder => ({ ...rest, fileCount: members.length }));
  const manifest: Manifest = { schema: 1, pipelineId, checksum: '', files, folders };
  return { ...manifest, checksum: manifestChecksum(manifest) };
}

/** The text of `manifest.json`. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** What `checksum` must be. */
export function manifestChecksum(manifest: Manifest): string {
  const text = manifestText({ ...manifest, checksum: '' });
  return createHash('sha256').update(text).digest('hex');
}

/** Another process may replace or remove a file while the folder is listed. */
async function hashUnlessGone(path: string): Promise<{ sha256: string; bytes: number } | undefined> {
  try {
    return await hashFileCached(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isWhole(found: { sha256: string } | undefined, expected: { sha256: string }): boolean {
  return found?.sha256 === expected.sha256;
}

function ownersOf(sidecars: readonly Sidecar[]): Map<string, Sidecar> {
  const owners = new Map<string, Sidecar>();
  for (const sidecar of sidecars) {
    if (sidecar.files === undefined) owners.set(sidecar.path, sidecar);
    for (const file of sidecar.files ?? []) owners.set(`${sidecar.path}/${file.name}`, sidecar);
  }
  return owners;
}

function describeFile(
  path: string,
  facts: { sha256: string; bytes: number },
  owner: Sidecar | undefined
): ManifestFile {
  const expected = owner?.files?.find(({ name }) => `${owner.path}/${name}` === path) ?? owner;
  // Changed after it was published: what lies there now was made by nobody we know.
  if (owner === undefined || expected?.sha256 !== facts.sha256) return { path, ...facts, kind: 'log', producer: null };
  const reused = owner.reusedFrom === undefined ? {} : { reusedFrom: owner.reusedFrom };
  if (owner.files !== undefined) {
    return { path, ...facts, kind: owner.kind, artifact: owner.path, producer: owner.producer, ...reused };
  }
  return { path, ...facts, kind: owner.kind, inputs: owner.inputs, producer: owner.producer, ...reused };
}

/**
 * Reads a run's manifest.
 *
 * @throws PipelineError `DataInvalid` naming the file when it is missing or not whole
 */
export async function readManifest(directory: string): Promise<Manifest> {
  const path = join(directory, MANIFEST_FILE);
  try {
    const value = JSON.parse(await readFile(path, 'utf8')) as Partial<Manifest> | null;
    if (value?.schema === 1 && Array.isArray(value.files) && Array.isArray(value.folders)) return value as Manifest;
  } catch (error) {
    throw new PipelineError('DataInvalid', `cannot read ${path}: ${(error as Error).message}`, { where: path });
  }
  throw new PipelineError('DataInvalid', `${path} is not a run's manifest (schema 1).`, { where: path });
}
