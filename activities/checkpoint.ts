import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { storageError, syncDirectory, temporaryName } from '../shared/artifacts/atomic-file.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type { ConvertCheckpointArgs, ConvertCheckpointResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { finalInstruction, NO_MEMORY } from '../shared/memory/prompts.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { compareModels } from './compare-models.js';
import { hfPath } from './paths.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
import { resolveInput } from './resolve.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';
import { serve, stopServing } from './serving.js';

/** What a Hugging Face model folder consists of; the optimizer and counters of a checkpoint stay behind. */
const HF_FILES = [
  'config.json',
  'generation_config.json',
  'model.safetensors',
  'tokenizer.json',
  'tokenizer_config.json',
];

/** Where the verification's outcome is kept, for a repeated activity and for the report. */
interface ConversionFacts {
  tensors: number;
  largest_difference: number;
  generated_ids: number[];
}

/**
 * Makes the Hugging Face model of an arm from its last checkpoint and verifies it against the base: same names, shapes and
 * types, finite, not equal to the base, and it loads and generates through the serving engine.
 *
 * @throws PipelineError CheckpointInvalid listing what is wrong
 */
export async function convertCheckpoint(
  args: ConvertCheckpointArgs,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<ConvertCheckpointResult> {
  const run = await openRun(args.run);
  const folder = hfPath(args.arm);
  const factsPath = `arms/${args.arm}/hf.json`;
  const existing = await madeFrom(run, folder, args.checkpoint);
  if (existing !== undefined && (await run.find(factsPath)) !== undefined) {
    const facts = await run.readJson<ConversionFacts>(factsPath);
    return { model: existing, tensors: facts.tensors, largestDifference: facts.largest_difference, reused: true };
  }
  const checkpoint = await run.find(args.checkpoint.path);
  if (checkpoint?.sha256 !== args.checkpoint.sha256) {
    throw new PipelineError(
      'CheckpointInvalid',
      `${args.checkpoint.path} is missing or not the checkpoint that was saved (SHA-256 differs)`
    );
  }
  await copyModel(run.path(args.checkpoint.path), run.path(folder));
  scope.report({ phase: 'checkpoint' });
  const base = resolveInput(run.recipe.model.path ?? '', ports.projectRoot);
  const compared = await compareModels(base, run.path(folder));
  const generated = await generateOnce(run, args.arm, run.path(folder), scope, ports);
  const origin: Origin = {
    stage: 'checkpoint',
    activity: 'convertCheckpoint',
    attempt: scope.attempt,
    inputs: [args.checkpoint],
  };
  const facts: ConversionFacts = {
    tensors: compared.tensors,
    largest_difference: compared.largestDifference,
    generated_ids: generated,
  };
  const model = await run.adopt(folder, 'hf-model', origin);
  await run.publish(factsPath, `${JSON.stringify(facts)}\n`, 'hf-model', { ...origin, inputs: [model] });
  return { model, tensors: compared.tensors, largestDifference: compared.largestDifference, reused: false };
}

/** The converted model, if it was made from this very checkpoint and not from an earlier try of the training. */
async function madeFrom(run: RunFiles, folder: string, checkpoint: ArtifactRef): Promise<ArtifactRef | undefined> {
  const inputs = await run.inputsOf(folder);
  return inputs?.some(({ sha256 }) => sha256 === checkpoint.sha256) === true ? await run.find(folder) : undefined;
}

async function copyModel(from: string, to: string): Promise<void> {
  const temporary = temporaryName(to);
  try {
    await mkdir(temporary, { recursive: true });
    for (const name of HF_FILES) {
      if (existsSync(join(from, name))) await copyFile(join(from, name), join(temporary, name));
    }
    await syncDirectory(temporary);
    if (
      await stat(to).then(
        () => true,
        () => false
      )
    )
      await rm(to, { recursive: true });
    await rename(temporary, to);
    await syncDirectory(dirname(to));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw storageError(to, error);
  }
}

/** Eight greedy tokens: proof that the serving engine loads the files and answers. */
async function generateOnce(
  run: RunFiles,
  arm: string,
  folder: string,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<number[]> {
  const name = `${arm}-check`;
  const served = await serve(run, { name, modelDir: folder, concurrency: 1 }, scope, ports);
  try {
    const reply = await served.inference.generate(
      {
        promptIds: await probePrompt(folder),
        maxNewTokens: 8,
        temperature: 0,
        topP: 1,
        stopTokenIds: [],
        wantLogProbs: true,
      },
      { signal: scope.signal }
    );
    return reply.outputIds ?? [];
  } finally {
    await stopServing(run, name);
  }
}

/** A real prompt of the recurrent loop, so that the check goes through template, tokenizer and model together. */
async function probePrompt(folder: string): Promise<number[]> {
  const tokenizer = await loadTokenizer(folder);
  const content = finalInstruction({ question: 'Does the model load?', memory: NO_MEMORY, evaluation: true });
  return tokenizer.encode(tokenizer.renderChat([{ role: 'user', content }], { addGenerationPrompt: true }));
}
