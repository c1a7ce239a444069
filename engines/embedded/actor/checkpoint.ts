import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  hashFile,
  storageError,
  syncDirectory,
  temporaryName,
  writeFileAtomic,
} from '../../../shared/artifacts/atomic-file.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { readSafetensors } from '../../../shared/safetensors/read.js';
import { encodeSafetensors } from '../../../shared/safetensors/write.js';
import type { NamedTensor, Policy } from '../policy-api.js';
import { loadQwen3, tensorProblems } from '../policy.js';
import { requireSameModel } from './same-model.js';

/** Files taken over from the base: a checkpoint is a complete Hugging Face model. */
const COPIED = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'generation_config.json',
];
const MODEL = 'model.safetensors';
const OPTIMIZER = 'optimizer.safetensors';
const STATE = 'state.json';
const MANIFEST = 'checkpoint.json';
const SCHEMA = 'memagent-checkpoint-v1';
/** torch's names of Adam's moments, before the weight's own name. */
const FIRST = 'exp_avg.';
const SECOND = 'exp_avg_sq.';

interface CheckpointManifest {
  schema: string;
  weights_version: number;
  /** Kernels that made the weights: others give other bits. */
  kernels: string;
  files: { name: string; sha256: string; bytes: number }[];
}

export interface CheckpointContent {
  policy: Policy;
  /** Updates applied. */
  updates: number;
  modelDir: string;
  /** Facts of the caller, e.g. the data cursor; kept in `state.json`. */
  extra: Record<string, unknown>;
}

/**
 * Writes a checkpoint folder: model, tokenizer, Adam moments, counters, and a manifest with size and SHA-256 of each file. It is
 * made under a temporary name and renamed, so a folder with the final name is complete. Equal states give equal bytes.
 *
 * @throws PipelineError StorageFailed
 */
export async function saveCheckpoint(dir: string, content: CheckpointContent): Promise<void> {
  const temporary = temporaryName(dir);
  try {
    await mkdir(temporary, { recursive: true });
    const files = await writeFiles(temporary, content);
    const manifest: CheckpointManifest = {
      schema: SCHEMA,
      weights_version: content.updates,
      kernels: content.policy.kernels,
      files,
    };
    await writeFileAtomic(join(temporary, MANIFEST), toJson(manifest));
    await replaceFolder(temporary, dir);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
    throw storageError(dir, error);
  }
}

/**
 * Writes a policy's weights as a Hugging Face model folder, under a temporary name and renamed.
 *
 * @param modelDir folder of the base: configuration and tokenizer are copied from it
 * @throws PipelineError StorageFailed
 */
export async function exportModel(dir: string, policy: Policy, modelDir: string): Promise<void> {
  const temporary = temporaryName(dir);
  try {
    await mkdir(temporary, { recursive: true });
    await writeFileAtomic(join(temporary, MODEL), encodeSafetensors(policy.weights()));
    for (const name of COPIED)
      if (existsSync(join(modelDir, name))) await copyFile(join(modelDir, name), join(temporary, name));
    await replaceFolder(temporary, dir);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
    throw storageError(dir, error);
  }
}

/** An older folder of that name is moved aside first and deleted last: at every moment one of the two is there in full. */
async function replaceFolder(from: string, to: string): Promise<void> {
  const old = temporaryName(to);
  const hadOld = existsSync(to);
  if (hadOld) await rename(to, old);
  await rename(from, to);
  await syncDirectory(dirname(to));
  if (hadOld) await rm(old, { recursive: true, force: true });
}

async function writeFiles(folder: string, content: CheckpointContent): Promise<CheckpointManifest['files']> {
  const { policy, updates, modelDir, extra } = content;
  const { step, first, second } = policy.optimizerState();
  const state = { ...extra, weights_version: updates, optimizer_step: step };
  const contents = new Map<string, string | Uint8Array>([
    [MODEL, encodeSafetensors(policy.weights())],
    [OPTIMIZER, encodeSafetensors([...prefixed(FIRST, first), ...prefixed(SECOND, second)])],
    [STATE, toJson(state)],
  ]);
  for (const name of COPIED)
    if (existsSync(join(modelDir, name))) contents.set(name, await readFile(join(modelDir, name)));
  const files: CheckpointManifest['files'] = [];
  for (const name of [...contents.keys()].sort())
    files.push({ name, ...(await writeFileAtomic(join(folder, name), contents.get(name)!)) });
  return files;
}

function prefixed(prefix: string, tensors: readonly NamedTensor[]): NamedTensor[] {
  return tensors.map((tensor) => ({ ...tensor, name: prefix + tensor.name }));
}

function withoutPrefix(prefix: string, tensors: readonly NamedTensor[]): NamedTensor[] {
  return tensors
    .filter(({ name }) => name.startsWith(prefix))
    .map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }));
}

function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function invalid(dir: string, problems: string[]): PipelineError {
  return new PipelineError('CheckpointInvalid', `checkpoint ${dir}: ${problems.join('; ')}`, { problems, where: dir });
}

/**
 * Checks that a checkpoint is complete: a manifest of ours, and every file with its recorded size and hash.
 *
 * @returns version of its weights
 * @throws PipelineError CheckpointInvalid listing what is torn, foreign or missing
 */
export async function verifyCheckpoint(dir: string): Promise<number> {
  const manifest = await readManifest(dir);
  const problems: string[] = [];
  const names = new Set(manifest.files.map(({ name }) => name));
  for (const name of ['config.json', MODEL, OPTIMIZER, STATE])
    if (!names.has(name)) problems.push(`the manifest does not name ${name}`);
  for (const { name, bytes, sha256 } of manifest.files) {
    const facts = basename(name) === name ? await hashFile(join(dir, name)).catch(() => undefined) : undefined;
    if (facts === undefined) problems.push(`${name} is missing`);
    else if (facts.bytes !== bytes) problems.push(`${name} has ${facts.bytes} bytes, expected ${bytes}`);
    else if (facts.sha256 !== sha256) problems.push(`${name} was changed (SHA-256 differs)`);
  }
  if (problems.length > 0) throw invalid(dir, problems);
  return manifest.weights_version;
}

async function readManifest(dir: string): Promise<CheckpointManifest> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(join(dir, MANIFEST), 'utf8'));
  } catch (error) {
    throw invalid(dir, [`${MANIFEST} cannot be read (${(error as Error).message})`]);
  }
  const manifest = value as CheckpointManifest;
  const isOurs =
    typeof value === 'object' &&
    value !== null &&
    manifest.schema === SCHEMA &&
    Number.isSafeInteger(manifest.weights_version) &&
    manifest.weights_version >= 0 &&
    Array.isArray(manifest.files) &&
    manifest.files.every((file) => typeof file?.name === 'string');
  if (!isOurs) throw invalid(dir, [`${MANIFEST} is not of a checkpoint of this engine`]);
  return manifest;
}

/**
 * Sets a policy to a checkpoint. Everything is checked before anything is set.
 *
 * @returns version of its weights
 * @throws PipelineError CheckpointInvalid
 */
export async function loadCheckpoint(dir: string, policy: Policy): Promise<number> {
  const version = await verifyCheckpoint(dir);
  const { config, tensors } = await loadQwen3(dir);
  requireSameModel(policy.config, config, dir);
  const moments = await readSafetensors(join(dir, OPTIMIZER));
  const [first, second] = [withoutPrefix(FIRST, moments), withoutPrefix(SECOND, moments)];
  const problems = [tensors, first, second].flatMap((list) => tensorProblems(config, list));
  const { optimizer_step: step } = JSON.parse(await readFile(join(dir, STATE), 'utf8')) as { optimizer_step?: unknown };
  if (!Number.isSafeInteger(step) || (step as number) < 0) problems.push(`${STATE} has no optimizer_step`);
  if (problems.length > 0) throw invalid(dir, problems);
  policy.setWeights(tensors);
  policy.setOptimizerState({ step: step as number, first, second });
  return version;
}
