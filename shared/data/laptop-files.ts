import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ColumnSource } from 'hyparquet-writer';
import { leaf, list, struct, writeParquet, type ParquetLayout } from '../artifacts/parquet-file.js';
import { AtomicTextWriter } from './line-writer.js';
import { laptopItem, type LaptopItemOptions, type LaptopSet } from './laptop-generator.js';

export interface LaptopDataOptions {
  seed: number;
  trainItems: number;
  devItems: number;
  /** Chunks of a training and a development context. */
  trainChunks: number;
  factsPerChunk: number;
  /** Chunks of each evaluation file's contexts. */
  evalLengths: readonly number[];
  /** Items of each evaluation file. */
  evalItems: number;
}

export interface GeneratedFile {
  /** `train`, `dev` or `eval_<length>`. */
  name: string;
  /** File name within the folder. */
  filename: string;
  sha256: string;
  bytes: number;
  items: number;
}

/** Rows of one Parquet row group. */
const GROUP_ROWS = 1000;
/** Items made between two turns of the event loop. */
const SLICE_ITEMS = 200;
const DATA_SOURCE = 'laptop';

const INT64 = (name: string) => [{ name, type: 'INT64' as const, repetition_type: 'REQUIRED' as const }];

/** verl's columns, as the MemAgent training files have them. */
const TRAINING_LAYOUT: ParquetLayout = {
  format: 'laptop-task/1',
  schema: [
    { name: 'schema', num_children: 6 },
    ...leaf('data_source', 'STRING'),
    ...list('prompt', struct('element', [leaf('content', 'STRING'), leaf('role', 'STRING')])),
    ...leaf('context', 'STRING'),
    ...leaf('ability', 'STRING'),
    ...struct('reward_model', [list('ground_truth', leaf('element', 'STRING')), leaf('style', 'STRING')]),
    ...struct('extra_info', [INT64('index'), INT64('num_docs'), leaf('question', 'STRING')]),
  ],
};

/**
 * Writes the laptop task in the file formats of the real data set: `train.parquet`, `dev.parquet`, `eval_<length>.json`.
 * Equal options give equal bytes.
 *
 * @param onFile called after each file
 * @throws PipelineError StorageFailed; RecipeInvalid for more facts a chunk than there are keys
 */
export async function generateLaptopData(
  folder: string,
  options: LaptopDataOptions,
  onFile: (file: GeneratedFile) => void = () => undefined
): Promise<GeneratedFile[]> {
  const files: GeneratedFile[] = [];
  const add = (file: GeneratedFile): void => {
    files.push(file);
    onFile(file);
  };
  add(await writeTraining(folder, 'train', options.trainItems, options));
  add(await writeTraining(folder, 'dev', options.devItems, options));
  for (const length of options.evalLengths) add(await writeEvaluation(folder, length, options));
  return files;
}

async function writeTraining(
  folder: string,
  set: 'train' | 'dev',
  items: number,
  options: LaptopDataOptions
): Promise<GeneratedFile> {
  const filename = `${set}.parquet`;
  const of = itemOptions(set, options.trainChunks, options);
  const facts = await writeParquet(join(folder, filename), TRAINING_LAYOUT, trainingGroups(of, items));
  return { name: set, filename, ...facts, items };
}

type ItemOf = (index: number) => LaptopItemOptions;

function itemOptions(set: LaptopSet, chunks: number, { seed, factsPerChunk }: LaptopDataOptions): ItemOf {
  return (index) => ({ seed, set, chunks, factsPerChunk, index });
}

function* trainingGroups(of: ItemOf, items: number): Generator<ColumnSource[]> {
  for (let start = 0; start < items; start += GROUP_ROWS) {
    const indices = Array.from({ length: Math.min(GROUP_ROWS, items - start) }, (_, at) => start + at);
    const tasks = indices.map((index) => laptopItem(of(index)));
    yield [
      { name: 'data_source', data: tasks.map(() => DATA_SOURCE) },
      { name: 'prompt', data: tasks.map(({ question }) => [{ content: question, role: 'user' }]) },
      { name: 'context', data: tasks.map(({ context }) => context) },
      { name: 'ability', data: tasks.map(() => 'memory') },
      { name: 'reward_model', data: tasks.map(({ answer }) => ({ ground_truth: [answer], style: 'rule' })) },
      {
        name: 'extra_info',
        data: tasks.map(({ question }, at) => ({
          index: BigInt(start + at),
          num_docs: BigInt(of(0).chunks),
          question,
        })),
      },
    ];
  }
}

async function writeEvaluation(folder: string, chunks: number, options: LaptopDataOptions): Promise<GeneratedFile> {
  const filename = `eval_${chunks}.json`;
  const of = itemOptions('eval', chunks, options);
  const writer = await AtomicTextWriter.create(join(folder, filename));
  try {
    for (let index = 0; index < options.evalItems; index += 1) {
      const { question, answer, context } = laptopItem(of(index));
      const row = { index, input: question, context, answers: [answer], num_docs: chunks };
      await writer.write(`${index === 0 ? '[' : ','}\n${JSON.stringify(row)}`);
      if (index % SLICE_ITEMS === SLICE_ITEMS - 1) await nextTurn();
    }
    await writer.write('\n]\n');
    return { name: `eval_${chunks}`, filename, ...(await writer.commit()), items: options.evalItems };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
