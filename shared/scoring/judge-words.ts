import type { AcceptanceMetric, JudgeInput, RulePart } from './verdict-types.js';

/** Name of a metric in sentences. */
export const METRIC_NAMES: Readonly<Record<AcceptanceMetric, string>> = {
  sub_em: 'sub-EM',
  boxed_em: 'boxed EM',
  em: 'EM',
  f1: 'F1',
};

/** Whether a part of the rule is asked for. */
export function asksFor({ parts }: JudgeInput, part: RulePart): boolean {
  return parts === undefined || parts.includes(part);
}

/** A data set of the verdict with the name people call it by. */
export interface NamedDataset {
  dataset: string;
  /** Context length; null for the development set. */
  length: number | null;
  /** `length 8` or `the development set`. */
  name: string;
  metric: AcceptanceMetric;
}

/** All data sets of a verdict, lengths first, in the order they are reported. */
export function namedDatasets(input: JudgeInput): NamedDataset[] {
  const lengths = input.lengths.map(({ dataset, length }) => ({
    dataset,
    length,
    name: `length ${length}`,
    metric: input.metric,
  }));
  if (input.devDataset === null) return lengths;
  return [
    ...lengths,
    { dataset: input.devDataset, length: null, name: 'the development set', metric: 'boxed_em' as const },
  ];
}

/** `at length 8`, `on the development set`. */
export function place(dataset: NamedDataset): string {
  return dataset.length === null ? `on ${dataset.name}` : `at ${dataset.name}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listWords(words: readonly string[]): string {
  if (words.length <= 1) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/**
 * A number with at most two decimals. Where rounding would hide on which side of the limit it lies, or that it is not 0, the
 * number is given in full.
 */
export function shortNumber(value: number, limit = 0): string {
  const rounded = Number(value.toFixed(2));
  const hides = Math.sign(rounded - limit) !== Math.sign(value - limit);
  return String(hides ? value : rounded === 0 ? 0 : rounded);
}

/** The first words of a sentence in capitals as a sentence needs it. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
