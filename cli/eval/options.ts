import { Option, type Command } from 'commander';
import type { Flavour } from '../../shared/contracts/trajectory.js';
import type { ContextCut } from '../../shared/evaluation/types.js';
import type { InferenceProtocol } from '../../shared/inference/types.js';
import type { EvaluationMode } from '../../shared/scoring/evaluation-types.js';
import { JSON_OPTION } from '../command.js';
import { numberBetween, optionalSeed, positiveInteger } from '../number-options.js';

/** Options of `memagent eval` as parsed. The defaults are the frozen reference evaluation. */
export interface EvalOptions {
  endpoint: string;
  protocol: InferenceProtocol;
  model: string;
  tokenizer: string;
  data: string;
  out: string;
  runName?: string;
  mode: EvaluationMode;
  cut: ContextCut;
  flavour: Flavour;
  chunkTokens: number;
  memoryTokens: number;
  finalTokens: number;
  maxChunks: number;
  maxInputTokens?: number;
  contextLength?: number;
  enableThinking?: 'true' | 'false';
  temperature: number;
  topP: number;
  samplesPerItem: number;
  seed: number | 'none';
  items?: number;
  concurrency: number;
  attempts: number;
  timeout: number;
  apiKeyEnv?: string;
  json?: boolean;
}

function choice(flags: string, text: string, choices: readonly string[]): Option {
  return new Option(flags, text).choices(choices);
}

export function addEvalOptions(command: Command): Command {
  command
    .requiredOption('--endpoint <url>', 'address of the inference server, e.g. http://127.0.0.1:30000')
    .addOption(
      choice('--protocol <name>', 'how to speak to it (openai: chat completions)', [
        'sglang',
        'vllm',
        'openai',
      ]).makeOptionMandatory()
    )
    .requiredOption('--model <name>', 'model the server must have: the name it serves, or its path')
    .requiredOption('--tokenizer <dir>', 'folder with the model’s tokenizer.json and tokenizer_config.json')
    .requiredOption('--data <file>', 'items: eval_50.json and the like, JSONL or Parquet; as published or converted')
    .requiredOption('--out <dir>', 'folder of the results; what is there already is not asked again')
    .option('--run-name <name>', 'name of the result files (default: the data file’s name)');
  command
    .addOption(choice('--mode <mode>', 'read chunk by chunk, or once', ['recurrent', 'base']).default('recurrent'))
    .addOption(choice('--cut <part>', 'what mode base leaves out of a long context', ['end', 'middle']).default('end'))
    .addOption(choice('--flavour <name>', 'whose memory rules', ['relax', 'vime']).default('relax'))
    .option('--chunk-tokens <n>', 'tokens of a chunk', positiveInteger, 2048)
    .option('--memory-tokens <n>', 'tokens of a memory at most', positiveInteger, 1024)
    .option('--final-tokens <n>', 'tokens of an answer at most', positiveInteger, 256)
    .option('--max-chunks <n>', 'chunks read at most', positiveInteger, 64)
    .option('--max-input-tokens <n>', 'longest prompt of mode base (default: context − final tokens)', positiveInteger)
    .option('--context-length <n>', 'refuse a server with another context length', positiveInteger)
    .addOption(choice('--enable-thinking <bool>', 'the chat template’s switch (default: unset)', ['true', 'false']));
  return command
    .option('--temperature <t>', 'sampling temperature; 0 is greedy', numberBetween(0, 100), 0.7)
    .option('--top-p <p>', 'nucleus sampling', numberBetween(0, 1, true), 0.95)
    .option('--samples-per-item <n>', 'samples of each item', positiveInteger, 1)
    .option('--seed <n>', 'seed of the samples, where the server takes one; none: send no seeds', optionalSeed, 0)
    .option('--items <n>', 'only the first items (default: all)', positiveInteger)
    .option('--concurrency <n>', 'samples in flight', positiveInteger, 16)
    .option('--attempts <n>', 'attempts of a sample whose requests failed', positiveInteger, 2)
    .option('--timeout <seconds>', 'longest wait for one reply', numberBetween(0, 86_400, true), 600)
    .option('--api-key-env <name>', 'environment variable that holds the server’s API key')
    .option(...JSON_OPTION);
}
