/**
 * `make parity`: models that the engine writes give the same logits in Hugging Face transformers, models that transformers writes give
 * them in the engine, and the laptop's tokenizer is a Hugging Face one. Exit code 1 when anything differs by more than the tolerance.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeError } from '../cli/describe-error.js';
import { LAPTOP_LIMITS } from '../engines/embedded/base/measure.js';
import { createPolicy, loadQwen3 } from '../engines/embedded/policy.js';
import { laptopPassages } from '../engines/embedded/tokenizer/passages.js';
import { laptopItem } from '../shared/data/laptop-generator.js';
import { memoryInstruction, NO_MEMORY } from '../shared/memory/prompts.js';
import { packageRoot } from '../shared/runtime/entry.js';
import { lastLines, runProgram } from '../shared/temporal-binary/run-program.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { UserError } from '../shared/contracts/user-error.js';
import { foreignConfig, MAX_SEQUENCE, type ParityModel, randomSequences, writeModels } from './parity/models.js';
import { pythonWith } from './python-env.js';

/** Largest difference of a logit from transformers in float64: the tolerance of the policy's conformance cases for a float32 engine. */
const TOLERANCE = 2e-5;
/** Models whose own sensitivity is larger, so that transformers in float32 is off by more, allow this multiple of that. */
const FLOAT32_ALLOWANCE = 1.5;
const PYTHON_LIMIT_MS = 10 * 60_000;
const LAPTOP = join(packageRoot(), 'models/laptop');

interface Answers {
  class: string;
  ids: number[][];
  decoded: string[];
  rendered: string[];
  versions: { torch: string; transformers: string };
}

async function main(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'memagent-parity-'));
  try {
    const python = await pythonWith(['torch', 'transformers', 'numpy'], console.error);
    const made = [true, false].map((tied, seed) => {
      return { folder: join(root, `made-${seed}`), config: foreignConfig(tied), seed, tied };
    });
    const models: ParityModel[] = [
      { name: 'the laptop base', folder: LAPTOP, sequences: randomSequences(512) },
      ...(await writeModels(root)),
      ...made.map(({ folder, tied }) => ({
        name: `written by transformers in shards, ${tied ? 'tied' : 'untied'}`,
        folder,
        sequences: randomSequences(173),
      })),
    ];
    const job = {
      make: made,
      models: models.map((model, i) => ({ ...model, out: join(root, `${i}.f32`), exact: join(root, `${i}.f64`) })),
      tokenizer: { folder: LAPTOP, ...tokenizerTexts() },
      answers: join(root, 'answers.json'),
    };
    await writeFile(join(root, 'job.json'), JSON.stringify(job));
    const script = join(packageRoot(), 'scripts/python/parity_transformers.py');
    const result = await runProgram(python, [script, join(root, 'job.json')], {
      timeoutMs: PYTHON_LIMIT_MS,
      env: { ...process.env, HF_HUB_OFFLINE: '1' },
    });
    if (result.code !== 0) throw new UserError(`the transformers side failed: ${lastLines(result.output, 6)}`);
    const answers = JSON.parse(await readFile(job.answers, 'utf8')) as Answers;
    const { torch, transformers } = answers.versions;
    console.log(`transformers ${transformers}, torch ${torch}`);
    console.log(
      `largest difference of a logit from float64: of the engine (allowed ${TOLERANCE}, or ${FLOAT32_ALLOWANCE} × the next), of transformers in float32`
    );
    for (const { name, folder, sequences, out, exact } of job.models)
      report(name, await worstLogits(folder, sequences, await readFile(exact), await readFile(out)));
    await reportTokenizer(answers);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Largest differences from transformers in float64. */
interface Worst {
  ours: number;
  theirs: number;
}

function report(name: string, { ours, theirs }: Worst): void {
  const isGood = ours <= Math.max(TOLERANCE, FLOAT32_ALLOWANCE * theirs);
  console.log(`${isGood ? 'same     ' : 'DIFFERENT'}  ${ours.toExponential(1)}  ${theirs.toExponential(1)}  ${name}`);
  if (!isGood) process.exitCode = 1;
}

/** @param exact,single transformers' logits of all sequences, float64 and float32 */
async function worstLogits(
  folder: string,
  sequences: readonly number[][],
  exact: Buffer,
  single: Buffer
): Promise<Worst> {
  const policy = await createPolicy({ ...(await loadQwen3(folder)), maxSequence: MAX_SEQUENCE, maxBatch: 1 });
  const logits = sequences.flatMap((tokens) => [...policy.logits(tokens)]);
  if (exact.byteLength !== 8 * logits.length || single.byteLength !== 4 * logits.length)
    return { ours: Infinity, theirs: 0 };
  const theirs = logits.map((_, at) => single.readFloatLE(4 * at));
  const worst = (each: readonly number[]): number => worstOf(each, (at) => exact.readDoubleLE(8 * at));
  return { ours: worst(logits), theirs: worst(theirs) };
}

/** NaN must not pass for "no difference". */
function worstOf(logits: readonly number[], exact: (at: number) => number): number {
  return logits.reduce((worst, logit, at) => {
    const difference = Math.abs(logit - exact(at));
    return Number.isNaN(difference) ? Infinity : Math.max(worst, difference);
  }, 0);
}

function tokenizerTexts(): { texts: string[]; chats: { role: 'user'; content: string }[][] } {
  const item = laptopItem({ seed: 5, set: 'dev', chunks: 1, factsPerChunk: LAPTOP_LIMITS.chunkTokens / 3, index: 0 });
  const content = memoryInstruction({
    question: item.question,
    memory: NO_MEMORY,
    chunk: item.context,
    evaluation: true,
  });
  const mixed = ['Grüße, 世界 🙂\t\u0000', '<|im_start|>user\n\\boxed{47}<|im_end|>', 'amber=?;}'];
  const texts = [item.context, content, ...mixed, ...laptopPassages()];
  return { texts, chats: [[{ role: 'user', content }]] };
}

async function reportTokenizer(answers: Answers): Promise<void> {
  const tokenizer = await loadTokenizer(LAPTOP);
  const { texts, chats } = tokenizerTexts();
  const ours = {
    ids: texts.map((text) => tokenizer.encode(text)),
    decoded: texts.map((text) => tokenizer.decode(tokenizer.encode(text), { skipSpecialTokens: false })),
    rendered: chats.map((chat) => tokenizer.renderChat(chat)),
  };
  for (const part of ['ids', 'decoded', 'rendered'] as const) {
    const isGood = JSON.stringify(ours[part]) === JSON.stringify(answers[part]);
    console.log(`${isGood ? 'same     ' : 'DIFFERENT'}           the laptop tokenizer as ${answers.class}: ${part}`);
    if (!isGood) process.exitCode = 1;
  }
}

try {
  await main();
} catch (error) {
  const { text, exitCode } = describeError(error);
  console.error(text);
  process.exitCode = exitCode;
}
