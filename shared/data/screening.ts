import { PipelineError } from '../contracts/pipeline-error.js';

/** Tries of one candidate prompt by the base model. */
export interface ScreenedPrompt {
  /** Position in the data set, from 0. */
  item: number;
  successes: number;
  /** Identity of what the prompt says: equal prompts may stand in only one split. */
  sha256: string;
}

export interface ScreeningWish {
  /** Tries of each prompt. */
  samples: number;
  /** Prompts of the training split. */
  train: number;
  /** Prompts of the held-out split. */
  heldOut: number;
  /** Successes of a usable prompt. Default: 1 … samples − 1. */
  passes?: { min: number; max: number };
}

/** Items of each split, ascending. */
export interface ScreeningSplits {
  train: number[];
  heldOut: number[];
  /** Prompts with both a success and a failure, within the wished range. */
  usable: number;
  /** Of those, the ones with a success share from a quarter to three quarters (2–6 of 8). */
  preferred: number;
  /** Usable prompts left out because an equal one was there before. */
  repeated: number;
}

/**
 * Pass@N screening: keeps prompts that the base model solves sometimes, because a group of only successes or only failures has no
 * advantage and teaches nothing. Preferred ones (2–6 of 8) come first, then the others, each in the order of the data; the training split
 * is filled first.
 *
 * @throws PipelineError DataInvalid when fewer are usable than wanted
 */
export function selectPrompts(prompts: readonly ScreenedPrompt[], wish: ScreeningWish): ScreeningSplits {
  const { min, max } = wish.passes ?? { min: 1, max: wish.samples - 1 };
  const seen = new Set<string>();
  const usable: ScreenedPrompt[] = [];
  let repeated = 0;
  for (const prompt of [...prompts].sort((a, b) => a.item - b.item)) {
    if (prompt.successes < min || prompt.successes > max) continue;
    if (seen.has(prompt.sha256)) repeated += 1;
    else usable.push(prompt);
    seen.add(prompt.sha256);
  }
  const isPreferred = ({ successes }: ScreenedPrompt): boolean =>
    successes >= wish.samples / 4 && successes <= (3 * wish.samples) / 4;
  const preferred = usable.filter(isPreferred);
  const ordered = [...preferred, ...usable.filter((prompt) => !isPreferred(prompt))];
  const wanted = wish.train + wish.heldOut;
  if (ordered.length < wanted)
    throw new PipelineError(
      'DataInvalid',
      `${ordered.length} of ${prompts.length} prompts have ${rangeText(min, max, wish.samples)} in ${wish.samples} tries; ${wanted} are wanted`,
      { cure: 'Screen more candidate prompts, or ask for fewer.' }
    );
  const items = (from: number, to: number): number[] =>
    ordered
      .slice(from, to)
      .map(({ item }) => item)
      .sort((a, b) => a - b);
  return {
    train: items(0, wish.train),
    heldOut: items(wish.train, wanted),
    usable: usable.length,
    preferred: preferred.length,
    repeated,
  };
}

function rangeText(min: number, max: number, samples: number): string {
  return min === 1 && max === samples - 1 ? 'both a success and a failure' : `${min} to ${max} successes`;
}

/** How many prompts had 0, 1, … successes. */
export function successHistogram(prompts: readonly ScreenedPrompt[], samples: number): number[] {
  const counts = new Array<number>(samples + 1).fill(0);
  for (const { successes } of prompts) counts[successes] = (counts[successes] ?? 0) + 1;
  return counts;
}
