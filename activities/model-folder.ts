import { existsSync } from 'node:fs';
import { HubSource, type HubPorts, type SnapshotProgress } from '../shared/data/hub/hub-source.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { resolveInput } from './resolve-input.js';

/** Files of a model repository that make up the model; other formats of the same weights, pictures and notes are left out. */
const WANTED =
  /^(?:[^/]+\.safetensors|model\.safetensors\.index\.json|(?:config|generation_config|tokenizer|tokenizer_config|vocab|special_tokens_map|added_tokens)\.json|merges\.txt|chat_template\.jinja)$/;

export interface ModelFolderOptions extends HubPorts {
  /** Called a few times a second while the model is downloaded. */
  onProgress?: (progress: SnapshotProgress) => void;
}

/** Snapshots that this process has checked, by id and revision: hashing gigabytes anew at every activity would tell nothing. */
const checked = new Map<string, string>();

/**
 * Folder of a recipe's base model on this worker: `model.path`, else the pinned repository's snapshot under `MEMAGENT_HOME`, which
 * is downloaded once, goes on where it was interrupted, and is checked against the hub's sizes and hashes once a process.
 *
 * @param projectRoot folder that relative paths are resolved against (after the working directory)
 * @throws PipelineError as {@link HubSource.fetchFile}; PinMismatch when the repository holds no safetensors
 */
export async function modelFolder(
  { model }: Pick<Recipe, 'model'>,
  projectRoot: string,
  options: ModelFolderOptions = {}
): Promise<string> {
  if (model.path !== undefined || model.id === undefined || model.revision === undefined)
    return resolveInput(model.path ?? '', projectRoot);
  const { onProgress, ...ports } = options;
  const key = `${model.id}@${model.revision}`;
  const known = checked.get(key);
  if (known !== undefined && existsSync(known)) return known;
  const source = new HubSource({ type: 'model', id: model.id, revision: model.revision }, ports);
  const { folder, files } = await source.fetchSnapshot((path) => WANTED.test(path), onProgress);
  if (files.some(({ path }) => path.endsWith('.safetensors'))) {
    checked.set(key, folder);
    return folder;
  }
  const message = `${model.id} at ${model.revision} has no safetensors`;
  throw new PipelineError('PinMismatch', message, {
    problems: [message],
    cure: 'Name a revision with safetensors, or convert the weights and give model.path.',
  });
}
