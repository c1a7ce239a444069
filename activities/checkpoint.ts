import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { storageError, syncDirectory, temporaryName } from '../shared/artifacts/atomic-file.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type { ConvertCheckpointArgs, ConvertCheckpointResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { finalInstruction, NO_MEMORY } from '../shared/memory/prompts.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { compareModels, type ModelComparison } from './compare-models.js';
import { convertMegatron } from './megatron-checkpoint.js';
import { modelFolder } from './model-folder.js';
import { hfPath } from './paths.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
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
  const base = await modelFolder(run.recipe, ports.projectRoot, { signal: scope.signal });
  const compared = await makeModel(run, args, base, scope);
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

/** Makes the model beside its place, verifies it there, and moves it: a folder with the final name is complete and checked. */
async function makeModel(
  run: RunFiles,
  args: ConvertCheckpointArgs,
  baseDir: string,
  scope: ActivityScope
): Promise<ModelComparison> {
  const target = run.path(hfPath(args.arm));
  const outputDir = temporaryName(target);
  try {
    if (run.recipe.engine === 'ray') await convertMegatron(run, args, { baseDir, outputDir }, scope);
    else await copyModel(run.path(args.checkpoint.path), outputDir);
    scope.report({ phase: 'checkpoint', verify: true });
    const compared = await compareModels(baseDir, outputDir, target);
    await syncDirectory(outputDir);
    await rm(target, { recursive: true, force: true });
    await rename(outputDir, target);
    await syncDirectory(dirname(target));
    return compared;
  } catch (error) {
    await rm(outputDir, { recursive: true, force: true });
    throw isSystemError(error) ? storageError(target, error) : error;
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).errno === 'number';
}

async function copyModel(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of HF_FILES) if (existsSync(join(from, name))) await copyFile(join(from, name), join(to, name));
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
