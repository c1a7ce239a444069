import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import {
  recipeJsonSchemaText,
  recipeJsonSchema,
  type SchemaNode,
} from '../../../shared/contracts/recipe-json-schema.js';
import { canonicalRecipe, parseRecipe, readRecipeFile, recipeHash } from '../../../shared/contracts/recipe-parse.js';
import { packageRoot } from '../../../shared/runtime/entry.js';

const RECIPES = join(packageRoot(), 'recipes');

type Json = Record<string, unknown>;

function laptop(changes: Json = {}): Json {
  return {
    name: 'test',
    engine: 'embedded',
    model: { path: 'models/laptop' },
    data: { generate: {} },
    arms: { relax: { flavour: 'relax' } },
    ...changes,
  };
}

function ray(changes: Json = {}): Json {
  return laptop({
    engine: 'ray',
    model: { id: 'Qwen/Qwen3-4B', revision: 'a'.repeat(40) },
    arms: { relax: { flavour: 'relax', repo: 'redai-infra/Relax', commit: 'b'.repeat(40), path: '/srv/relax' } },
    grpo: { rowsMultiple: 4 },
    cluster: {},
    serving: { engine: 'vllm' },
    ...changes,
  });
}

function problems(value: unknown): string[] {
  try {
    parseRecipe(value, 'test.json');
  } catch (error) {
    expect(error).toBeInstanceOf(PipelineError);
    expect((error as PipelineError).type).toBe('RecipeInvalid');
    for (const problem of (error as PipelineError).details.problems ?? [])
      expect((error as PipelineError).message).toContain(problem);
    return (error as PipelineError).details.problems ?? [];
  }
  return [];
}

describe('parseRecipe', () => {
  it('fills in defaults, decides onHalt by the engine, and drops $schema', () => {
    const recipe = parseRecipe(laptop({ $schema: './recipe.schema.json' }), 'test');
    expect(recipe.onHalt).toBe('fail');
    expect(recipe).not.toHaveProperty('$schema');
    expect(recipe.memory).toEqual({
      chunkTokens: 2048,
      memoryTokens: 1024,
      finalTokens: 256,
      maxChunks: 64,
      enableThinking: null,
    });
    expect(recipe.placement.train).toBe('local');
    expect(parseRecipe(ray(), 'test').onHalt).toBe('wait');
    expect(parseRecipe(laptop({ onHalt: 'wait' }), 'test').onHalt).toBe('wait');
  });

  it('is idempotent: a normalized recipe is a recipe and means the same', () => {
    for (const value of [laptop(), ray()]) {
      const once = parseRecipe(value, 'test');
      expect(parseRecipe(JSON.parse(canonicalRecipe(once)), 'test')).toEqual(once);
    }
  });

  it('hashes what a recipe means, not how it is written', () => {
    const plain = parseRecipe(laptop(), 'test');
    const written = parseRecipe({ ...laptop({ grpo: { steps: 100 } }), $schema: 'x' }, 'test');
    expect(recipeHash(written)).toBe(recipeHash(plain));
    expect(recipeHash(parseRecipe(laptop({ grpo: { steps: 101 } }), 'test'))).not.toBe(recipeHash(plain));
  });

  it('lists every wrong field in one go, with path, expectation, finding and the nearest known key', () => {
    const found = problems(
      laptop({
        engin: 'embedded',
        grpo: { steps: '100', learning_rate: 1, concurrency: 4, clip: [0.2] },
        arms: { Relax: { flavour: 'relax' }, vime: { flavour: 'vimee' } },
        evaluation: { lengths: [4, 4] },
        memory: { chunkTokens: 0 },
      })
    );
    const expected = [
      /^engin: unknown key; did you mean “engine”\?$/,
      /^grpo\.steps: expected a whole number ≥ 1, found the text "100"/,
      /^grpo\.learning_rate: unknown key; did you mean “learningRate”\?$/,
      /^grpo\.concurrency: unknown key here; did you mean “evaluation\.concurrency”\?$/,
      /^grpo\.clip: expected a list of 2: \[a number > 0, a number > 0\], found a list of 1/,
      /^arms\.Relax: wrong name: expected text that matches/,
      /^arms\.vime\.flavour: expected one of "relax", "vime", found the text "vimee"/,
      /^evaluation\.lengths: every length once/,
      /^memory\.chunkTokens: expected a whole number ≥ 1, found 0/,
    ];
    for (const pattern of expected) expect(found).toContainEqual(expect.stringMatching(pattern));
    expect(found).toHaveLength(expected.length);
  });

  it('names missing fields', () => {
    const found = problems({});
    for (const key of ['name', 'engine', 'model', 'data', 'arms'])
      expect(found).toContainEqual(expect.stringMatching(`^${key}: missing: expected`));
  });

  it.each<[string, Json, RegExp]>([
    [
      'a model with path and id',
      laptop({ model: { path: 'x', id: 'y', revision: 'a'.repeat(40) } }),
      /^model: .*not both/,
    ],
    ['a model with neither', laptop({ model: {} }), /^model: .*found neither/],
    ['a model id without revision', ray({ model: { id: 'Qwen/Qwen3-4B' } }), /^model\.revision: missing/],
    ['a short revision', ray({ model: { id: 'Q', revision: 'main' } }), /^model\.revision: expected a full commit/],
    ['data from nowhere', laptop({ data: {} }), /^data: .*found neither/],
    ['a data repo without revision', ray({ data: { repo: 'a/b', files: files() } }), /^data\.revision: missing/],
    ['a length without a file', ray({ data: { files: files() } }), /^data\.files\.eval\.800: missing/],
    ['an arm called base', laptop({ arms: { base: { flavour: 'relax' } } }), /^arms\.base: /],
    ['no arm', laptop({ arms: {} }), /^arms: expected at least one arm/],
    ['ray without commit', ray({ arms: { a: { flavour: 'vime', repo: 'x/y' } } }), /^arms\.a\.commit: missing/],
    ['ray without cluster', ray({ cluster: undefined }), /^cluster: missing/],
    ['ray with a model that is not pinned', ray({ model: { path: 'x' } }), /^model\.id: engine “ray”/],
    ['ray without a server for evaluation', ray({ serving: undefined }), /^serving: missing/],
    ['ray without a checkout', ray({ arms: { a: { flavour: 'vime', repo: 'x/y' } } }), /^arms\.a\.path: missing/],
    ['ray with its own rollout server', ray({ rolloutServing: { engine: 'sglang' } }), /^rolloutServing: only with/],
    [
      'rollouts by a server that cannot load weights',
      laptop({ rolloutServing: { engine: 'vllm' } }),
      /^rolloutServing\.engine: expected “sglang”/,
    ],
    [
      'one rollout server for arms that train at once',
      laptop({
        arms: { a: { flavour: 'relax' }, b: { flavour: 'vime' } },
        rolloutServing: { engine: 'sglang', endpoint: 'http://gpu:30000' },
      }),
      /^rolloutServing\.endpoint: one server holds the weights of one arm/,
    ],
    [
      'an endpoint that is also started',
      ray({ serving: { engine: 'vllm', endpoint: 'http://gpu:8000', args: ['--x'] } }),
      /^serving: an endpoint is used as it is/,
    ],
    [
      'an endpoint with a password in its URL',
      ray({ serving: { engine: 'vllm', endpoint: 'http://me:secret@gpu:8000' } }),
      /^serving\.endpoint: expected text that matches/,
    ],
    ['a pause after nothing', laptop({ pauseAfter: 'trian' }), /^pauseAfter: no stage .*did you mean “train”/],
    ['a pause after the last stage', laptop({ pauseAfter: ['report'] }), /^pauseAfter: no stage .*"report"/],
    ['a pause after an unknown arm', laptop({ pauseAfter: 'train:vime' }), /^pauseAfter: no stage .*"train:vime"/],
    ['a fallback that names nothing', laptop({ oomFallback: {} }), /^oomFallback: names no smaller setting/],
    [
      'a fallback that is not smaller',
      laptop({ oomFallback: { rolloutConcurrency: 64 } }),
      /^oomFallback\.rolloutConcurrency: expected less than grpo\.rolloutConcurrency \(64\), found 64/,
    ],
    [
      'a fallback for GPUs on the laptop',
      laptop({ oomFallback: { tokensPerGpu: 10 } }),
      /^oomFallback\.tokensPerGpu: only with engine “ray”/,
    ],
    ['a cluster on the laptop', laptop({ cluster: {} }), /^cluster: only with engine “ray”/],
    ['rows that do not divide', ray({ grpo: { rowsMultiple: 3 } }), /^grpo\.rowsMultiple: .*size 4/],
    [
      'a context too small for a turn',
      laptop({ evaluation: { serverContext: 4096 } }),
      /^evaluation\.serverContext: expected more than 4096/,
    ],
    [
      'an unknown hashed file',
      ray({ data: { files: files('800'), sha256: { other: 'c'.repeat(64) } } }),
      /^data\.sha256: "other"/,
    ],
    ['a key from a prototype', JSON.parse('{"__proto__": 1}') as Json, /^__proto__: unknown key/],
    [
      'a tag that is no queue name',
      laptop({ placement: { train: 'H100 x8' } }),
      /^placement\.train: expected text that matches/,
    ],
  ])('refuses %s', (_, value, pattern) => {
    expect(problems(value)).toContainEqual(expect.stringMatching(pattern));
  });

  it.each([null, 'recipes/laptop.json', [], 7])(
    'refuses %j, which is no object, and says how to pass a recipe',
    (value) => {
      expect(() => parseRecipe(value, 'the workflow argument')).toThrow(/the workflow argument: .*--input-file/);
    }
  );

  it('quotes huge values shortly', () => {
    const [problem] = problems(laptop({ name: '\u001b[31m'.padEnd(10_000_000, 'x') }));
    expect(problem?.length).toBeLessThan(300);
    expect(problem).not.toContain('\u001b');
  });
});

function files(...more: string[]): Json {
  const lengths = ['50', '200', ...more];
  return { train: 't', dev: 'd', eval: Object.fromEntries(lengths.map((length) => [length, `eval_${length}.json`])) };
}

describe('readRecipeFile', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memagent-recipe-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function message(content: string | Uint8Array): Promise<string> {
    const path = join(folder, 'recipe.json');
    await writeFile(path, content);
    return await readRecipeFile(path).then(
      () => 'it was read',
      (error: PipelineError) => error.message
    );
  }

  it.each<[string, string, RegExp]>([
    ['a byte order mark', '\ufeff{}', /line 1, column 1: not JSON: .*byte order mark.*UTF-8 without BOM/],
    ['a trailing comma', '{\n  "name": "x",\n}', /line 2, column 14: not JSON: a comma before “}”/],
    ['a trailing comma in a list', '{"clip": [1, 2,]}', /column 15: not JSON: a comma before “]”/],
    ['a missing comma', '{"a": 1\n "b": 2}', /line 2, column 2: not JSON: expected “,” or “}”/],
    ['a comment', '{\n  // why\n  "a": 1}', /line 2, column 3: not JSON: JSON has no comments/],
    ['single quotes', "{'a': 1}", /column 2: not JSON: expected a key in double quotes/],
    ['a bare key', '{a: 1}', /column 2: not JSON: expected a key in double quotes, found “a”/],
    ['Python words', '{"a": True}', /column 7: not JSON: unknown word “True”/],
    ['NaN', '{"a": NaN}', /unknown word “NaN”/],
    ['an unclosed text', '{"a": "b}', /column 7: not JSON: a text without its closing double quote/],
    ['a line break in a text', '{"a": "b\nc"}', /inside a text/],
    ['an unclosed object', '{"a": {"b": 1}', /line 1, column 1: not JSON: the “{” is never closed/],
    ['a second value', '{} {}', /unexpected “{” after the end/],
    ['a leading zero', '{"a": 01}', /malformed number/],
    ['a bad escape', '{"a": "\\x"}', /malformed escape/],
    ['a repeated key', '{"a": 1, "a": 2}', /the key "a" occurs twice/],
    ['nothing', ' \n', /the file is empty/],
    ['endless nesting', '['.repeat(100_000), /more than 200 levels/],
    ['a missing value', '{"a": }', /expected a value, found “}”/],
    ['a missing colon', '{"a" 1}', /expected “:” after the key "a"/],
  ])('says where and how to correct %s', async (_, content, pattern) => {
    expect(await message(content)).toMatch(pattern);
  });

  it('tells other encodings, other files and missing files apart', async () => {
    expect(await message(Uint8Array.of(0xff, 0xfe, 0x7b, 0))).toMatch(/UTF-16/);
    expect(await message(Uint8Array.of(0x7b, 0xff, 0x7d))).toMatch(/not UTF-8/);
    expect(await message('x'.repeat(2 * 1024 * 1024))).toMatch(/too large for a recipe/);
    await expect(readRecipeFile(join(folder, 'none.json'))).rejects.toThrow(/none\.json does not exist/);
    await expect(readRecipeFile(folder)).rejects.toThrow(/is a folder/);
  });

  it.each(['laptop', 'qwen3-4b', 'qwen3-0.6b'])('reads the shipped recipe %s', async (name) => {
    const { recipe, raw } = await readRecipeFile(join(RECIPES, `${name}.json`));
    expect(recipe.name).toBe(name);
    expect(recipe).toEqual(parseRecipe(raw, name));
  });

  it('agrees with JSON.parse about every shipped and test file', async () => {
    for (const name of ['laptop.json', 'qwen3-4b.json', 'recipe.schema.json', '../package.json', '../tsconfig.json']) {
      const { parseJsonText } = await import('../../../shared/contracts/json-text.js');
      const text = await readFile(join(RECIPES, name), 'utf8');
      expect(parseJsonText(text, name)).toEqual(JSON.parse(text));
    }
  });
});

describe('the JSON Schema of the recipe', () => {
  it('is committed as generated (npm run build:schema)', async () => {
    expect(await readFile(join(RECIPES, 'recipe.schema.json'), 'utf8')).toBe(recipeJsonSchemaText());
  });

  it('describes every field', () => {
    const missing: string[] = [];
    const visit = (node: SchemaNode, path: string): void => {
      for (const [key, child] of Object.entries(node.properties ?? {})) {
        const here = path === '' ? key : `${path}.${key}`;
        if (child.properties === undefined && child.description === undefined) missing.push(here);
        visit(child, here);
      }
    };
    visit(recipeJsonSchema(), '');
    expect(missing).toEqual([]);
  });

  it('has the frozen values of the comparison', async () => {
    const { recipe } = await readRecipeFile(join(RECIPES, 'qwen3-4b.json'));
    expect(recipe.grpo).toMatchObject({
      steps: 100,
      promptsPerStep: 8,
      groupSize: 8,
      learningRate: 1e-6,
      rowsMultiple: 4,
    });
    expect(recipe.grpo).toMatchObject({
      adamBetas: [0.9, 0.98],
      weightDecay: 0.1,
      klCoefficient: 0.001,
      clip: [0.2, 0.3],
    });
    expect(recipe.memory).toMatchObject({ chunkTokens: 2048, memoryTokens: 1024, finalTokens: 256, maxChunks: 64 });
    expect(recipe.evaluation).toMatchObject({ temperature: 0.7, topP: 0.95, samplesPerItem: 1, concurrency: 16 });
    expect(recipe.cluster).toMatchObject({ gpus: 8, tensorParallel: 2, engineContext: 8192, tokensPerGpu: 9216 });
  });
});
