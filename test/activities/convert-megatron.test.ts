import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { convertCheckpoint } from '../../activities/checkpoint.js';
import { openRun, RECIPE_FILE } from '../../activities/run-files.js';
import { activity } from '../../activities/scope.js';
import type { ConvertCheckpointArgs, ConvertCheckpointResult } from '../../shared/contracts/activities.js';
import { canonicalJson } from '../../shared/contracts/canonical-json.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { parseRecipe } from '../../shared/contracts/recipe-parse.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';
import { LAPTOP, temporaryFolder } from '../engines/embedded/support.js';
import { quiet } from '../e2e/support.js';

const CONVERTER = fileURLToPath(new URL('../fixtures/converter/convert_torch_dist_to_hf_bridge.py', import.meta.url));
const hasPython = (await runProgram('python3', ['--version'], { timeoutMs: 10_000 })).code === 0;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const CHECKPOINT = 'arms/relax/checkpoints/iter_0000001';
const origin = { stage: 'train', activity: 'test', attempt: 1, inputs: [] } as const;

/** A recipe whose converter goes wrong in the named ways. */
function recipeOf(wrong: string): Recipe {
  return parseRecipe(
    {
      name: 'convert',
      engine: 'ray',
      model: { path: LAPTOP, id: 'test/laptop', revision: 'a'.repeat(40) },
      data: { generate: {} },
      arms: {
        relax: {
          flavour: 'relax',
          repo: 'https://example.org/relax',
          commit: 'b'.repeat(40),
          path: join(folder.path, 'relax'),
        },
      },
      memory: { chunkTokens: 24, memoryTokens: 16, finalTokens: 8 },
      grpo: { steps: 2, rowsMultiple: 4 },
      evaluation: { lengths: [4], serverContext: 128 },
      cluster: { env: { CONVERT: wrong } },
      serving: { engine: 'embedded' },
      artifacts: folder.path,
    },
    'the test'
  );
}

/** A run with a Megatron checkpoint, and the framework's checkout with its converter. */
async function arrange(wrong: string): Promise<ConvertCheckpointArgs> {
  const tools = join(folder.path, 'relax/scripts/tools');
  await mkdir(tools, { recursive: true });
  await copyFile(CONVERTER, join(tools, 'convert_torch_dist_to_hf_bridge.py'));
  const recipe = recipeOf(wrong);
  const run = await openRun({ pipelineId: 'run', root: folder.path, recipeSha256: '' }, recipe);
  const { sha256 } = await run.publish(RECIPE_FILE, `${canonicalJson(recipe)}\n`, 'recipe', { ...origin, inputs: [] });
  await mkdir(run.path(CHECKPOINT), { recursive: true });
  const files = [
    { path: '.metadata', bytes: 8 },
    { path: '__0_0.distcp', bytes: 32 },
    { path: 'common.pt', bytes: 16 },
  ];
  for (const { path, bytes } of files) await writeFile(join(run.path(CHECKPOINT), path), 'x'.repeat(bytes));
  const checkpoint = await run.publish(`${CHECKPOINT}.json`, JSON.stringify({ step: 1, files }), 'checkpoint', {
    ...origin,
    inputs: [],
  });
  return { run: { pipelineId: 'run', root: folder.path, recipeSha256: sha256 }, arm: 'relax', checkpoint };
}

async function convert(args: ConvertCheckpointArgs, startToCloseTimeoutMs = 600_000): Promise<ConvertCheckpointResult> {
  const ports = { log: quiet, projectRoot: packageRoot() };
  const body = activity((given: ConvertCheckpointArgs, scope) => convertCheckpoint(given, scope, ports));
  const environment = new MockActivityEnvironment({ startToCloseTimeoutMs }, { logger: new DefaultLogger('ERROR') });
  return await environment.run(body, args);
}

describe.skipIf(!hasPython)('the conversion of a Megatron checkpoint (skipped without python3)', () => {
  it('is done by the framework’s program, completed from the base, checked, and generates through the server', async () => {
    const args = await arrange('');
    const result = await convert(args);
    expect(result).toMatchObject({ reused: false, largestDifference: expect.closeTo(0.25, 5) as number });
    expect(result.tensors).toBeGreaterThan(10);
    const made = await readdir(join(folder.path, 'run/arms/relax/hf'));
    expect(made).toEqual(
      expect.arrayContaining(['tokenizer.json', 'generation_config.json', 'model.safetensors.index.json'])
    );
    const log = await readFile(join(folder.path, 'run/logs/convert-relax.log'), 'utf8');
    expect(log).toContain(`Exporting checkpoint from ${join(folder.path, 'run', CHECKPOINT)}`);
    const facts = JSON.parse(await readFile(join(folder.path, 'run/arms/relax/hf.json'), 'utf8')) as {
      generated_ids: number[];
    };
    expect(facts.generated_ids.length).toBeGreaterThan(0);
    expect(await convert(args)).toMatchObject({ reused: true, tensors: result.tensors });
  });

  it('lists everything that is wrong with what it made, at once, and leaves nothing at the model’s place', async () => {
    const args = await arrange('missing,shape,dtype,index,config,tokenizer');
    const error = (await convert(args).catch((reason: unknown) => reason)) as {
      type: string;
      details: [{ problems: string[] }];
    };
    expect(error.type).toBe('CheckpointInvalid');
    expect(error.details[0].problems).toEqual([
      'model.layers.9.mlp.up_proj.weight is in model.safetensors.index.json, but in no shard',
      'model.layers.1.mlp.up_proj.weight is missing',
      'model.layers.0.input_layernorm.weight has type BF16, the base F32',
      'model.layers.0.self_attn.q_proj.weight has shape 64×128, the base 128×64',
      'tokenizer.json differs from the base',
      'config.json: rope_theta is 1000000, the base has 10000',
    ]);
    expect(await readdir(join(folder.path, 'run/arms/relax'))).toEqual(['checkpoints']);
  });

  it.each([
    ['torn', 'CheckpointInvalid', /model-00002-of-00002\.safetensors: its tensors end at byte \d+, the file at \d+/],
    ['nan', 'CheckpointInvalid', /model\.norm\.weight has values that are not finite/],
    ['equal', 'CheckpointInvalid', /every weight equals the base model/],
    ['fails', 'CheckpointInvalid', /ended with exit code 1; its log is [^]*does not know this architecture/],
    ['memory', 'OutOfMemory', /unable to allocate 8 GiB/],
    ['nothing', 'CheckpointInvalid', /ended well, but wrote no file/],
  ])('that goes wrong (%s) ends as %s', async (wrong, type, message) => {
    await expect(convert(await arrange(wrong))).rejects.toMatchObject({
      type,
      message: expect.stringMatching(message) as string,
    });
  });

  it('that hangs is ended, with evidence and its log kept', async () => {
    await expect(convert(await arrange('hangs'), 3_000)).rejects.toMatchObject({ type: 'Stalled' });
    const run = join(folder.path, 'run');
    expect(await readFile(join(run, 'logs/convert-relax.log'), 'utf8')).toContain('Exporting checkpoint');
    expect(await readdir(join(run, 'evidence/convert-relax'))).toEqual(['stall-001.json']);
    expect(await readdir(join(run, 'arms/relax'))).toEqual(['checkpoints']);
  });

  it('does not begin with a checkpoint that lost a file', async () => {
    const args = await arrange('');
    await writeFile(join(folder.path, 'run', CHECKPOINT, '__0_0.distcp'), 'short');
    await expect(convert(args)).rejects.toMatchObject({
      type: 'CheckpointInvalid',
      message: expect.stringContaining('__0_0.distcp has 5 bytes, 32 were saved') as string,
    });
  });
});
