import { LAPTOP_KEYS, LAPTOP_VALUES, laptopFact, laptopQuestion } from '../../../shared/data/laptop-task.js';
import { NO_MEMORY } from '../../../shared/memory/prompts.js';
import type { PhiloxStream } from '../../../shared/random/philox.js';
import type { PromptWriter } from './prompt-writer.js';

/** A sequence of the base's training and the indexes of the tokens whose prediction counts. */
export interface BaseRow {
  tokens: number[];
  targets: number[];
}

interface Fact {
  key: string;
  value: string;
}

/** What a memory says when the answer is not known yet. */
const UNKNOWN_VALUE = '?';

/** Facts of one recall row. */
const RECALL_FACTS = 24;
/** Facts a chunk has in training: 2 … 12, so that the laptop's 8 lie inside. */
const FEWEST_FACTS = 2;
const MOST_FACTS = 12;

/** Kinds of turns and their shares. */
export const TURN_SHARES = {
  /** The chunk has the fact, the memory is empty. */
  write: 0.2,
  /** The chunk has the fact, the memory says unknown. */
  writeOverUnknown: 0.2,
  /** The memory has the fact, the chunk does not. */
  copy: 0.2,
  /** Neither has it. */
  stayUnknown: 0.2,
  final: 0.15,
  finalUnknown: 0.05,
} as const;
export type TurnShape = keyof typeof TURN_SHARES;

/** Share of the memory turns with an empty memory among those that stay unknown: the first of a trajectory. */
const EMPTY_WHEN_UNKNOWN = 0.4;
/** Share of chunks written like the last of a context, whose end the converter trimmed. */
const TRIMMED_CHUNKS = 0.25;

/** Draws facts of distinct keys, values uniform and independent. */
export function drawFacts(random: PhiloxStream, count: number): Fact[] {
  return random
    .shuffle([...LAPTOP_KEYS])
    .slice(0, count)
    .map((key) => ({ key, value: LAPTOP_VALUES[random.nextInt(LAPTOP_VALUES.length)]! }));
}

function between(random: PhiloxStream, low: number, high: number): number {
  return low + random.nextInt(high - low + 1);
}

/** Multi-query associative recall: facts drawn with repeats from a small pool; the values of keys seen before count. */
export function recallRow(random: PhiloxStream, prompts: PromptWriter): BaseRow {
  const pool = drawFacts(random, between(random, FEWEST_FACTS, MOST_FACTS));
  const facts = Array.from({ length: RECALL_FACTS }, () => pool[random.nextInt(pool.length)]!);
  const tokens = prompts.encode(facts.map(({ key, value }) => laptopFact(key, value)).join(''));
  const perFact = tokens.length / RECALL_FACTS;
  const targets: number[] = [];
  const seen = new Set<Fact>();
  facts.forEach((fact, index) => {
    if (seen.has(fact)) targets.push(index * perFact + 1);
    seen.add(fact);
  });
  return { tokens, targets };
}

function drawShape(random: PhiloxStream): TurnShape {
  let rest = random.nextUniform();
  for (const [shape, share] of Object.entries(TURN_SHARES)) {
    rest -= share;
    if (rest < 0) return shape as TurnShape;
  }
  return 'finalUnknown';
}

/**
 * One turn of the task with the response it should have; the response and its end token count.
 *
 * @param carelessness share of known facts that the memory is taught to lose
 */
export function turnRow(random: PhiloxStream, prompts: PromptWriter, carelessness: number): BaseRow {
  const shape = drawShape(random);
  const facts = drawFacts(random, between(random, FEWEST_FACTS, MOST_FACTS) + 1);
  const asked = facts.shift()!;
  const question = laptopQuestion(asked.key);
  const known = question + asked.value;
  const unknown = question + UNKNOWN_VALUE;
  // Both variants of the prompts, or the evaluated model meets a token it never saw.
  const evaluation = random.nextInt(2) === 1;
  if (shape === 'final' || shape === 'finalUnknown') {
    const isKnown = shape === 'final';
    const memory = isKnown ? known : unknown;
    const prompt = prompts.final({ question, memory, evaluation });
    return answered(prompts, prompt, `\\boxed{${isKnown ? asked.value : UNKNOWN_VALUE}}`);
  }
  const isWritten = shape === 'write' || shape === 'writeOverUnknown';
  if (isWritten) facts[random.nextInt(facts.length)] = asked;
  const isEmpty = shape === 'write' || (shape === 'stayUnknown' && random.nextUniform() < EMPTY_WHEN_UNKNOWN);
  const memory = shape === 'copy' ? known : isEmpty ? NO_MEMORY : unknown;
  const isLost = shape === 'stayUnknown' || random.nextUniform() < carelessness;
  const prompt = prompts.memory({ question, memory, chunk: chunkText(random, facts), evaluation });
  return answered(prompts, prompt, isLost ? unknown : known);
}

function chunkText(random: PhiloxStream, facts: readonly Fact[]): string {
  const text = facts.map(({ key, value }) => laptopFact(key, value)).join('');
  return random.nextUniform() < TRIMMED_CHUNKS ? text.trimEnd() : text;
}

function answered(prompts: PromptWriter, prompt: number[], response: string): BaseRow {
  const answer = [...prompts.encode(response), prompts.endId];
  return { tokens: [...prompt, ...answer], targets: answer.map((_, index) => prompt.length + index) };
}
