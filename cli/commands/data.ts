import { Option, type Command } from 'commander';
import type { Flavour } from '../../shared/contracts/trajectory.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { integerList, positiveInteger, seedNumber } from '../number-options.js';

export interface ConvertOptions {
  out: string;
  flavour: Flavour;
  limit?: number;
  json?: boolean;
}

export interface LengthsOptions {
  documents: number[];
  out: string;
  seed: number;
  items?: number;
  allowRepeats?: boolean;
  json?: boolean;
}

export interface ScreenOptions {
  data: string;
  train: number;
  heldOut: number;
  out: string;
  json?: boolean;
}

export function addData(context: CommandContext): void {
  const data = context.program.command('data').description('Converts data files and makes evaluation sets.');
  withExamples(data, 'memagent data convert hotpotqa_dev.parquet --out dev.jsonl');
  const convert = data
    .command('convert')
    .description('Converts a published file (Parquet, JSON, JSONL) to the rows that training and evaluation read.')
    .argument('<source>', 'file as published')
    .requiredOption(
      '--out <file>',
      'JSON Lines to write; <file>.manifest.json has hashes and every skipped row’s reason'
    )
    .addOption(new Option('--flavour <name>', 'whose converter').choices(['relax', 'vime']).default('relax'))
    .option('--limit <n>', 'stop after so many rows (default: all)', positiveInteger)
    .option(...JSON_OPTION);
  withExamples(
    convert,
    'memagent data convert hotpotqa_dev.parquet --out dev.jsonl',
    'memagent data convert eval_50.json --out eval_50.jsonl --flavour vime'
  );
  runs(convert, context, async (source: string, options: ConvertOptions) => {
    const { convertData } = await import('../data/convert.js');
    return await convertData(context, source, options);
  });
  const lengths = data
    .command('lengths')
    .description(
      'Makes evaluation files with N documents a context from an official HotpotQA file (distractor setting).'
    )
    .argument('<source>', 'official HotpotQA file: JSON, JSONL or Parquet')
    .requiredOption('--documents <list>', 'documents of a context, with commas: 50,200,800', integerList)
    .requiredOption('--out <dir>', 'folder for eval_<documents>.json and lengths.manifest.json')
    .option('--seed <n>', 'seed of the distractors and their order', seedNumber, 0)
    .option('--items <n>', 'only the first items of the source (default: all)', positiveInteger)
    .option('--allow-repeats', 'let distractors stand in a context again when the source has too few')
    .option(...JSON_OPTION);
  withExamples(
    lengths,
    'memagent data lengths hotpot_dev_distractor_v1.json --documents 50,200,800 --out data --items 128'
  );
  runs(lengths, context, async (source: string, options: LengthsOptions) => {
    const { buildLengthFiles } = await import('../data/lengths.js');
    return await buildLengthFiles(context, source, options);
  });
  addScreen(context, data);
}

function addScreen(context: CommandContext, data: Command): void {
  const screen = data
    .command('screen')
    .description(
      'Pass@N screening: keeps prompts that the base model solved in some tries and not in others, in two disjoint splits.'
    )
    .argument('<samples>', 'samples file of `memagent eval --samples-per-item 8` of the base model')
    .requiredOption('--data <file>', 'the converted file that was evaluated')
    .requiredOption('--train <n>', 'prompts of the training split', positiveInteger)
    .option('--held-out <n>', 'prompts of the held-out split', seedNumber, 0)
    .requiredOption('--out <dir>', 'folder for train.jsonl, heldout.jsonl and screening.json')
    .option(...JSON_OPTION);
  withExamples(
    screen,
    'memagent data screen base/train.jsonl --data train.jsonl --train 512 --held-out 128 --out screened'
  );
  runs(screen, context, async (samples: string, options: ScreenOptions) => {
    const { screenData } = await import('../data/screen.js');
    return await screenData(context, samples, options);
  });
}
