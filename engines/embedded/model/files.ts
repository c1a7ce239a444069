import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { readSafetensorsFolder } from '../../../shared/safetensors/read.js';
import { encodeSafetensors } from '../../../shared/safetensors/write.js';
import type { NamedTensor, Qwen3Config } from '../policy-api.js';
import { parseQwen3Config, qwen3ConfigJson, type SpecialTokens } from './config.js';

/** A file as written. */
export interface WrittenFile {
  name: string;
  sha256: string;
  bytes: number;
}

/**
 * Reads config.json and the weights (one file or shards) of a Hugging Face Qwen3 folder.
 * `lm_head.weight` beside a tied embedding is left out, as transformers does.
 *
 * @throws PipelineError CheckpointInvalid naming the file and what is wrong with it
 */
export async function loadQwen3(folder: string): Promise<{ config: Qwen3Config; tensors: NamedTensor[] }> {
  const path = join(folder, 'config.json');
  let json: unknown;
  try {
    json = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new PipelineError('CheckpointInvalid', `${path} cannot be read: ${(error as Error).message}`, {
      where: path,
    });
  }
  const config = parseQwen3Config(json, path);
  const tensors = await readSafetensorsFolder(folder);
  return { config, tensors: config.tied ? tensors.filter(({ name }) => name !== 'lm_head.weight') : tensors };
}

/** Writes config.json and model.safetensors; equal content gives equal bytes. Each file is replaced atomically. */
export async function writeQwen3(
  folder: string,
  model: { config: Qwen3Config; tensors: readonly NamedTensor[]; tokens?: SpecialTokens }
): Promise<WrittenFile[]> {
  const json = `${JSON.stringify(qwen3ConfigJson(model.config, model.tokens), null, 2)}\n`;
  const contents: [string, string | Uint8Array][] = [
    ['config.json', json],
    ['model.safetensors', encodeSafetensors(model.tensors)],
  ];
  const written: WrittenFile[] = [];
  for (const [name, data] of contents) written.push({ name, ...(await writeFileAtomic(join(folder, name), data)) });
  return written;
}
