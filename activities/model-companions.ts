import { copyFile, readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hashFile } from '../shared/artifacts/atomic-file.js';
import { canonicalJson } from '../shared/contracts/canonical-json.js';

/** Files beside the weights that training never changes. */
const TOKENIZER_FILES = ['tokenizer.json', 'vocab.json', 'merges.txt', 'chat_template.jinja'];
const JSON_FILES = ['config.json', 'generation_config.json', 'tokenizer_config.json'];

/** Members that say by what a file was written, and nothing about the model. */
const WRITERS_OWN = ['_name_or_path', 'transformers_version'];

/** Takes over what a framework's converter leaves out: some copy only a part of the tokenizer. */
export async function completeModel(baseFolder: string, modelFolder: string): Promise<void> {
  for (const name of [...JSON_FILES, ...TOKENIZER_FILES]) {
    const [from, to] = [join(baseFolder, name), join(modelFolder, name)];
    if (existsSync(from) && !existsSync(to)) await copyFile(from, to);
  }
}

/** Files beside the weights that are missing or not the base's, one sentence each. */
export async function companionProblems(baseFolder: string, modelFolder: string): Promise<string[]> {
  const problems: string[] = [];
  for (const name of TOKENIZER_FILES) {
    const [base, model] = [join(baseFolder, name), join(modelFolder, name)];
    if (!existsSync(base)) continue;
    if (!existsSync(model)) problems.push(`${name} is missing`);
    else if ((await hashFile(base)).sha256 !== (await hashFile(model)).sha256)
      problems.push(`${name} differs from the base`);
  }
  for (const name of JSON_FILES) {
    const [base, model] = [await members(join(baseFolder, name)), await members(join(modelFolder, name))];
    if (base === undefined) continue;
    if (model === undefined) problems.push(`${name} is missing or not JSON`);
    else problems.push(...memberProblems(name, base, model));
  }
  return problems;
}

function memberProblems(file: string, base: Record<string, unknown>, model: Record<string, unknown>): string[] {
  const names = [...new Set([...Object.keys(base), ...Object.keys(model)])].sort();
  return names
    .filter((name) => !WRITERS_OWN.includes(name))
    .filter((name) => canonicalJson(base[name] ?? null) !== canonicalJson(model[name] ?? null))
    .map((name) => `${file}: ${name} is ${show(model[name])}, the base has ${show(base[name])}`);
}

function show(value: unknown): string {
  return value === undefined ? 'not there' : (JSON.stringify(value) ?? String(value)).slice(0, 80);
}

async function members(path: string): Promise<Record<string, unknown> | undefined> {
  try {
    const { torch_dtype: old, ...rest } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    // transformers has renamed it.
    return old === undefined ? rest : { dtype: old, ...rest };
  } catch {
    return undefined;
  }
}
