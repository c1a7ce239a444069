import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../atomic-file.js';
import { externalFolders, isExternal } from '../external-checkpoints.js';
import { folderFacts, listFiles, type FileFacts } from '../hash-cache.js';
import {
  isUnlisted,
  manifestChecksum,
  manifestText,
  type Manifest,
  type ManifestFile,
  type ManifestFolder,
} from '../manifest.js';
import { MANIFEST_FILE, META_FOLDER } from '../run-paths.js';
import { sidecarPath, sidecarText, type Sidecar } from '../sidecar.js';
import { CheckBuilder, type VerifyCheck } from './check.js';

/** The manifest itself: whole, unchanged, and in agreement with the sidecars where those are there. */
export async function verifyManifest(directory: string, manifest: Manifest): Promise<VerifyCheck> {
  const check = new CheckBuilder(
    'manifest',
    'the manifest’s own checksum, its inputs, and the record beside each artifact'
  );
  const text = await readFile(join(directory, MANIFEST_FILE), 'utf8');
  check.count();
  if (text !== manifestText(manifest)) check.problem('manifest.json is not in the form it was written in.');
  check.equal('checksum in manifest.json', manifest.checksum, manifestChecksum(manifest));
  const known = new Map([...manifest.files, ...manifest.folders].map((entry) => [entry.path, entry]));
  for (const entry of known.values()) {
    for (const input of entry.inputs ?? []) {
      check.count();
      const found = known.get(input.path);
      // An input that is no longer kept (an older checkpoint) cannot be looked up.
      if (found !== undefined) check.equal(`the input ${input.path} of ${entry.path}`, input.sha256, found.sha256);
    }
  }
  if (existsSync(join(directory, META_FOLDER))) {
    const owners = [...manifest.files.filter((file) => file.artifact === undefined), ...manifest.folders];
    for (const entry of owners) await verifySidecar(directory, entry, check);
  }
  return check.done();
}

/** The record beside an artifact says the same as the manifest, and is in the form it was written in. */
async function verifySidecar(
  directory: string,
  entry: ManifestFile | ManifestFolder,
  check: CheckBuilder
): Promise<void> {
  if (entry.producer === null) return;
  check.count();
  const name = `${META_FOLDER}/${entry.path}.json`;
  await check.attempt(name, async () => {
    const text = await readFile(sidecarPath(directory, entry.path), 'utf8');
    const sidecar = JSON.parse(text) as Sidecar;
    if (text !== sidecarText(sidecar)) check.problem(`${name} is not in the form it was written in.`);
    const { path, sha256, bytes, kind, inputs, producer, reusedFrom } = entry;
    const listed = { path, sha256, bytes, kind, inputs, producer, reusedFrom };
    for (const [field, value] of Object.entries(listed)) {
      check.equal(`${name}, ${field}`, sidecar[field as keyof Sidecar], value);
    }
    if (sidecar.files !== undefined) check.equal(`${name}, files`, folderFacts(sidecar.files), { sha256, bytes });
  });
}

/** Every byte of every file: hash and size as listed, nothing missing, nothing that is not listed. */
export async function verifyFiles(directory: string, manifest: Manifest): Promise<VerifyCheck> {
  const check = new CheckBuilder('files', 'SHA-256 and size of every file and folder; nothing missing, nothing added');
  for (const file of manifest.files) await verifyFile(directory, file, check);
  for (const folder of manifest.folders) {
    check.count();
    const facts = folderFacts(members(manifest, folder.path));
    check.equal(`the folder ${folder.path}`, { sha256: folder.sha256, bytes: folder.bytes }, facts);
  }
  const listed = new Set(manifest.files.map(({ path }) => path));
  const external = externalFolders(manifest.files.filter(({ artifact }) => artifact === undefined));
  const skip = (name: string): boolean => isUnlisted(name) || isExternal(name, external, listed);
  for (const name of await listFiles(directory, skip)) {
    if (!listed.has(name)) check.problem(`${name} lies in the run’s folder, but is not in the manifest.`);
  }
  return check.done();
}

async function verifyFile(directory: string, file: ManifestFile, check: CheckBuilder): Promise<void> {
  check.count();
  const path = join(directory, file.path);
  if (!(await isFile(path))) {
    check.problem(`${file.path} is missing.`);
    return;
  }
  await check.attempt(file.path, async () => {
    const { sha256, bytes } = await hashFile(path);
    if (bytes !== file.bytes) check.problem(`${file.path} has ${bytes} bytes, the manifest says ${file.bytes}.`);
    else if (sha256 !== file.sha256)
      check.problem(`${file.path} was changed: its SHA-256 is ${sha256}, the manifest says ${file.sha256}.`);
  });
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isFile(),
    () => false
  );
}

function members(manifest: Manifest, folder: string): FileFacts[] {
  return manifest.files
    .filter(({ artifact }) => artifact === folder)
    .map(({ path, sha256, bytes }) => ({ name: path.slice(folder.length + 1), sha256, bytes }));
}
