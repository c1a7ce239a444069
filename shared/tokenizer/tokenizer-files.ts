import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { PipelineError } from '../contracts/pipeline-error.js';

const addedToken = z.looseObject({
  id: z.int().nonnegative(),
  content: z.string(),
  special: z.boolean().default(false),
  normalized: z.boolean().optional(),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  single_word: z.boolean().default(false),
});

const tokenizerJson = z.looseObject({
  model: z.looseObject({
    // The library takes an unknown kind for an old one without a type, and gives wrong ids.
    type: z.enum(['BPE', 'WordPiece', 'Unigram']).optional(),
    // Not looked into: a vocabulary has 150,000 entries, and the library reads them anyway.
    vocab: z.custom<object>((value) => typeof value === 'object' && value !== null, 'a vocabulary is missing'),
    continuing_subword_prefix: z.string().nullish(),
  }),
  added_tokens: z.array(addedToken).default([]),
  normalizer: z
    .looseObject({ type: z.string() })
    .nullish()
    .transform((value) => value ?? null),
  pre_tokenizer: z
    .unknown()
    .optional()
    .transform((value) => value ?? null),
  post_processor: z
    .unknown()
    .optional()
    .transform((value) => value ?? null),
  decoder: z
    .looseObject({ type: z.string() })
    .nullish()
    .transform((value) => value ?? null),
});

/** A special token is written as its text or as an object with its text. */
const specialToken = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish()
  .transform((value) => value ?? undefined);

const chatTemplate = z
  .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
  .optional();

const tokenizerConfig = z.looseObject({
  bos_token: specialToken,
  eos_token: specialToken,
  pad_token: specialToken,
  unk_token: specialToken,
  additional_special_tokens: z.array(specialToken).nullish(),
  chat_template: chatTemplate,
});

const generationConfig = z.looseObject({
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
});

/** `tokenizer.json` as far as this package looks into it; the rest is the library's. */
export type TokenizerJson = z.output<typeof tokenizerJson>;
export type TokenizerConfig = z.output<typeof tokenizerConfig>;

export interface TokenizerFiles {
  json: TokenizerJson;
  config: TokenizerConfig;
  /** Source of the chat template; undefined when the model has none. */
  chatTemplate: string | undefined;
  /** End-of-sequence ids of `generation_config.json`. */
  generationEosIds: number[];
  /** SHA-256 of `tokenizer.json`. */
  sha256: string;
  /** Hash over all files: equal files make equal tokenizers. */
  contentKey: string;
}

const CURE = 'Copy tokenizer.json and tokenizer_config.json of the model’s pinned revision into that folder.';

/**
 * Reads a model folder's tokenizer files: `tokenizer.json` and `tokenizer_config.json` must be there,
 * `chat_template.jinja` (which wins over the template in the configuration) and `generation_config.json` may be.
 *
 * @throws PipelineError PinMismatch when a needed file is missing, DataInvalid when one is broken
 */
export async function readTokenizerFiles(directory: string): Promise<TokenizerFiles> {
  const [json, config, jinja, generation] = await Promise.all([
    readRequired(directory, 'tokenizer.json'),
    readRequired(directory, 'tokenizer_config.json'),
    readOptional(directory, 'chat_template.jinja'),
    readOptional(directory, 'generation_config.json'),
  ]);
  const parsedConfig = parseJson(config, tokenizerConfig, join(directory, 'tokenizer_config.json'));
  const eos =
    generation === undefined
      ? undefined
      : parseJson(generation, generationConfig, join(directory, 'generation_config.json')).eos_token_id;
  const all = createHash('sha256');
  for (const bytes of [json, config, jinja, generation]) all.update(bytes === undefined ? '-' : sha256Of(bytes));
  return {
    json: parseJson(json, tokenizerJson, join(directory, 'tokenizer.json')),
    config: parsedConfig,
    chatTemplate: jinja?.toString('utf8') ?? templateOf(parsedConfig),
    generationEosIds: [eos ?? []].flat(),
    sha256: sha256Of(json),
    contentKey: all.digest('hex'),
  };
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function templateOf({ chat_template: template }: TokenizerConfig): string | undefined {
  if (template === undefined || typeof template === 'string') return template;
  return template.find(({ name }) => name === 'default')?.template;
}

async function readRequired(directory: string, name: string): Promise<Buffer> {
  const bytes = await readOptional(directory, name);
  if (bytes !== undefined) return bytes;
  const path = join(directory, name);
  throw new PipelineError('PinMismatch', `the tokenizer file ${path} is missing. ${CURE}`, { where: path, cure: CURE });
}

async function readOptional(directory: string, name: string): Promise<Buffer | undefined> {
  const path = join(directory, name);
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new PipelineError('DataInvalid', `cannot read ${path}: ${(error as Error).message}`, { where: path });
  }
}

function parseJson<Schema extends z.ZodType>(bytes: Buffer, schema: Schema, path: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw brokenTokenizer(path, `it is not JSON (${(error as Error).message})`, error);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw brokenTokenizer(path, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a tokenizer'}`, result.error);
}

/** The error for a tokenizer file that is there but cannot be used. */
export function brokenTokenizer(path: string, reason: string, cause?: unknown): PipelineError {
  return new PipelineError(
    'DataInvalid',
    `the tokenizer file ${path} cannot be used: ${reason}. ${CURE}`,
    { where: path, cure: CURE },
    { cause }
  );
}
