import { z } from 'zod';

/** The part of a recipe that says where the data come from and which training prompts are used. */

const positiveInt = z.int().min(1);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const commit = z.string().regex(/^[0-9a-f]{40}$/);

const generatedData = z
  .strictObject({
    seed: z.int().min(0).default(7).describe('Seed of the generator.'),
    trainItems: positiveInt.default(800).describe('Training tasks.'),
    devItems: positiveInt.default(256).describe('Tasks of the boxed-EM development set.'),
    trainChunks: positiveInt.default(4).describe('Chunks of a training context.'),
    factsPerChunk: positiveInt.default(8).describe('Facts (three tokens each) of one chunk.'),
  })
  .describe('Makes the laptop task with a seeded generator.');

const dataFiles = z.strictObject({
  train: z.string().min(1).describe('Training rows: parquet, JSON or JSONL.'),
  dev: z.string().min(1).describe('HotpotQA development rows (boxed EM).'),
  eval: z
    .record(z.string().regex(/^[1-9][0-9]*$/), z.string().min(1))
    .describe('Evaluation file of each length; the key is the length.'),
});

const screening = z
  .strictObject({
    tries: z.int().min(2).max(1024).default(8).describe('Tries of each candidate prompt by the base model.'),
    candidates: positiveInt.optional().describe('Prompts tried: the first rows of the training file. Default: all.'),
    train: positiveInt.describe('Prompts of the training set; the stage fails when fewer are usable.'),
    heldOut: z.int().min(0).default(0).describe('Prompts of the held-out set, disjoint from the training set.'),
    minPasses: positiveInt.default(1).describe('Right tries that a usable prompt has at least.'),
    maxPasses: positiveInt.optional().describe('Right tries that a usable prompt has at most. Default: tries − 1.'),
    temperature: z.number().min(0).default(1).describe('Sampling temperature of the tries. No unit.'),
    topP: z.number().positive().max(1).default(1).describe('Nucleus sampling of the tries. Unit: probability.'),
    seed: z.int().min(0).default(0).describe('Sampling seed of the tries.'),
  })
  .describe('Pass@N screening: training uses only prompts that the base model solves sometimes.');

export const data = z.strictObject({
  generate: generatedData.optional(),
  repo: z.string().min(1).optional().describe('Hugging Face dataset id.'),
  revision: commit.optional().describe('Commit of the dataset; required with `repo`.'),
  files: dataFiles.optional().describe('File names in the dataset, or local paths when there is no `repo`.'),
  sha256: z.record(z.string(), sha256).optional().describe('Expected SHA-256 of source files, by file name.'),
  limitTrain: positiveInt.optional().describe('Use only the first rows of the training file.'),
  screening: screening.optional(),
});
