import { PipelineError } from '../contracts/pipeline-error.js';
import { PhiloxStream } from '../random/philox.js';
import { LAPTOP_KEYS, LAPTOP_VALUES, laptopFact, laptopQuestion } from './laptop-task.js';

/** The sets have streams of their own, so that no evaluation item can repeat a training item's draws. */
const SET_STREAMS = { train: 1, dev: 2, eval: 3 } as const;

export type LaptopSet = keyof typeof SET_STREAMS;

export interface LaptopItemOptions {
  seed: number;
  set: LaptopSet;
  chunks: number;
  factsPerChunk: number;
  /** Number of the item in its set, from 0. */
  index: number;
}

/** One task of the laptop recipe. */
export interface LaptopItem {
  /** The asked key with its sign, e.g. `amber=`. */
  question: string;
  /** Two digits. */
  answer: string;
  /** `chunks × factsPerChunk` facts, each `key=value;\n`. */
  context: string;
  /** Chunk (from 0) that holds the answer. */
  answerChunk: number;
}

/**
 * Makes one item: a pure function of its options, so that item i is the same however many are asked for.
 *
 * While all facts fit, every key of the context is different. In longer contexts the asked key still stands there once; the
 * others differ within a chunk only.
 *
 * @throws PipelineError RecipeInvalid when a chunk has more facts than there are keys
 */
export function laptopItem(options: LaptopItemOptions): LaptopItem {
  const { seed, set, chunks, factsPerChunk, index } = options;
  checkFacts(chunks, factsPerChunk);
  const draws = new PhiloxStream(seed, [SET_STREAMS[set], chunks * 0x1_0000 + factsPerChunk, index]);
  const facts = chunks * factsPerChunk;
  const keys = facts <= LAPTOP_KEYS.length ? distinctKeys(draws, facts) : longKeys(draws, chunks, factsPerChunk);
  const values = keys.order.map(() => LAPTOP_VALUES[draws.nextInt(LAPTOP_VALUES.length)] as string);
  return {
    question: laptopQuestion(LAPTOP_KEYS[keys.order[keys.asked] as number] as string),
    answer: values[keys.asked] as string,
    context: keys.order.map((key, at) => laptopFact(LAPTOP_KEYS[key] as string, values[at] as string)).join(''),
    answerChunk: Math.floor(keys.asked / factsPerChunk),
  };
}

/** Key numbers in the order of the context, and the place of the asked one. */
interface DrawnKeys {
  order: number[];
  asked: number;
}

function distinctKeys(draws: PhiloxStream, facts: number): DrawnKeys {
  const order = draws.shuffle(LAPTOP_KEYS.map((_, key) => key)).slice(0, facts);
  return { order, asked: draws.nextInt(facts) };
}

function longKeys(draws: PhiloxStream, chunks: number, factsPerChunk: number): DrawnKeys {
  const asked = draws.nextInt(LAPTOP_KEYS.length);
  const others = LAPTOP_KEYS.map((_, key) => key).filter((key) => key !== asked);
  const order: number[] = [];
  for (let chunk = 0; chunk < chunks; chunk += 1) order.push(...draws.shuffle([...others]).slice(0, factsPerChunk));
  const place = draws.nextInt(order.length);
  order[place] = asked;
  return { order, asked: place };
}

function checkFacts(chunks: number, factsPerChunk: number): void {
  const most = LAPTOP_KEYS.length - 1;
  if (factsPerChunk <= most && chunks < 0x1_0000) return;
  const problem = `${chunks} chunks of ${factsPerChunk} facts: a chunk has at most ${most} facts, a context fewer than 65536 chunks`;
  throw new PipelineError(
    'RecipeInvalid',
    `data.generate and evaluation.lengths ask for ${problem}. Lower the number.`,
    {
      where: 'data.generate.factsPerChunk',
    }
  );
}
