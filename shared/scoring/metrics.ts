import type { Flavour } from '../contracts/trajectory.js';
import { extractLastBoxed } from './boxed.js';
import { containsText, lastCodePoints, normalizeAnswer, splitWords } from './normalize.js';
import { ANSWER_WINDOW, matchesAny } from './reward.js';

/**
 * Token F1 of normalized words, 0 … 1.
 *
 * @param flavour with no word on either side, relax gives 1 for two empty texts, vime always 0
 */
export function f1Score(prediction: string, groundTruth: string, flavour: Flavour = 'relax'): number {
  const predicted = splitWords(normalizeAnswer(prediction));
  const expected = splitWords(normalizeAnswer(groundTruth));
  if (predicted.length === 0 || expected.length === 0) {
    return flavour === 'relax' && predicted.length === expected.length ? 1 : 0;
  }
  const same = commonWords(predicted, expected);
  if (same === 0) return 0;
  const precision = same / predicted.length;
  const recall = same / expected.length;
  // In this order of operations: another one gives other last bits.
  return (2 * precision * recall) / (precision + recall);
}

/** Words that both have, as often as both have them. */
function commonWords(left: readonly string[], right: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of left) counts.set(word, (counts.get(word) ?? 0) + 1);
  let same = 0;
  for (const word of right) {
    const count = counts.get(word) ?? 0;
    if (count > 0) {
      same += 1;
      counts.set(word, count - 1);
    }
  }
  return same;
}

/** 1 when the normalized texts are equal, else 0. Two texts that normalize to nothing are equal. */
export function exactMatch(prediction: string, groundTruth: string): number {
  return normalizeAnswer(prediction) === normalizeAnswer(groundTruth) ? 1 : 0;
}

/**
 * 1 when one normalized text contains the other, else 0.
 *
 * @param flavour relax gives 0 when either is empty; vime counts an empty text as contained, so that a missing box scores 1
 */
export function subExactMatch(prediction: string, groundTruth: string, flavour: Flavour = 'relax'): number {
  const predicted = normalizeAnswer(prediction);
  const expected = normalizeAnswer(groundTruth);
  if (flavour === 'relax' && (predicted === '' || expected === '')) return 0;
  return containsText(predicted, expected) || containsText(expected, predicted) ? 1 : 0;
}

/** 1 when the answer is not empty and equals any normalized reference answer, else 0. */
export function boxedExactMatch(prediction: string, answers: readonly string[]): number {
  return prediction !== '' && matchesAny(prediction, answers) ? 1 : 0;
}

/** The four scores of one evaluated response, as the sample record keeps them. */
export interface ResponseScores {
  pred: string;
  judge_f1: number;
  judge_em: number;
  judge_sub_em: number;
  judge_boxed_em: number;
}

/**
 * Scores one response with relax's rules, which judge every model: the answer is the last box in the last 300 code points; f1,
 * em and sub_em are measured against the first reference answer, boxed_em against any.
 */
export function scoreResponse(response: string, answers: readonly string[]): ResponseScores {
  const pred = extractLastBoxed(lastCodePoints(response, ANSWER_WINDOW));
  const answer = answers[0] ?? '';
  return {
    pred,
    judge_f1: f1Score(pred, answer),
    judge_em: exactMatch(pred, answer),
    judge_sub_em: subExactMatch(pred, answer),
    judge_boxed_em: boxedExactMatch(pred, answers),
  };
}
