import type { Flavour } from '../contracts/trajectory.js';
import { pyStr } from '../data/python/text.js';
import { PythonError, pyIndex, pyIterate, pyStrip, pyTruthy, pyTypeName, type PyValue } from '../data/python/value.js';
import { cleanLatex, extractLastBoxed, findLastBox, unwrapBox } from './boxed.js';
import { lastCodePoints, normalizeAnswer } from './normalize.js';

/** The answer is looked for in this many code points at the end of the final output. */
export const ANSWER_WINDOW = 300;

/**
 * What a trajectory is scored by. Members are Python values because both references accept any; with texts and lists of texts,
 * which every converted data set has, nothing here throws.
 */
export interface RewardInput {
  /** Text of the final turn; when absent or empty, `response` is scored. */
  finalOutput?: PyValue | undefined;
  response?: PyValue | undefined;
  /** The only acceptable answer when `groundTruth` is absent or empty. */
  label?: PyValue | undefined;
  /** Every acceptable answer. */
  groundTruth?: PyValue | undefined;
}

/** Why a trajectory has its reward. */
export type RewardDiagnostic = 'matched' | 'missing_boxed' | 'answer_mismatch';

export interface RewardResult {
  /** 1 or 0. */
  score: number;
  /** Extracted answer; '' when there is none. */
  prediction: string;
  /** First acceptable answer. */
  groundTruth: string;
  diagnostic: RewardDiagnostic;
}

/**
 * Reward of one trajectory by one reference's rules (memagent.md, "Reward").
 *
 * @throws PythonError where the reference would raise, e.g. vime for a ground truth that is not text
 */
export function scoreTrajectory(flavour: Flavour, input: RewardInput): RewardResult {
  return flavour === 'relax' ? scoreRelax(input) : scoreVime(input);
}

function scoreRelax(input: RewardInput): RewardResult {
  const finalOutput = pyStr(firstTruthy(input.finalOutput, input.response));
  const truths = groundTruthsRelax(input);
  const prediction = extractLastBoxed(lastCodePoints(finalOutput, ANSWER_WINDOW));
  const matched = prediction !== '' && matchesAny(prediction, pyIterate(truths));
  return {
    score: matched ? 1 : 0,
    prediction,
    groundTruth: pyTruthy(truths) ? pyStr(pyIndex(truths, 0)) : '',
    diagnostic: diagnose(matched, prediction),
  };
}

/** True when the normalized prediction equals any normalized answer. Answers that are not text are written out first. */
export function matchesAny(prediction: string, groundTruths: readonly PyValue[]): boolean {
  const normalized = normalizeAnswer(prediction);
  return groundTruths.some((truth) => normalizeAnswer(pyStr(truth)) === normalized);
}

function groundTruthsRelax(input: RewardInput): PyValue {
  if (pyTruthy(input.groundTruth)) {
    const truths = input.groundTruth as PyValue;
    return typeof truths === 'string' ? [truths] : truths;
  }
  return input.label === undefined || input.label === null ? [] : [input.label];
}

function scoreVime(input: RewardInput): RewardResult {
  const truths = groundTruthsVime(input);
  const output = lastCodePoints(sliceable(firstTruthy(input.finalOutput, input.response)), ANSWER_WINDOW).toLowerCase();
  const box = findLastBox(output);
  const content = box === null ? null : unwrapBox(box);
  const prediction = content === null ? '' : pyStrip(content);
  const matched = pyIterate(truths).some((truth) => {
    // The reference lower-cases the answer even when there is no box, and fails on one that is not text.
    const answer = lowered(truth);
    return content !== null && cleanLatex(content) === cleanLatex(answer);
  });
  return {
    score: matched ? 1 : 0,
    prediction,
    groundTruth: pyTruthy(truths) ? pyStr(pyIndex(truths, 0)) : '',
    diagnostic: diagnose(matched, prediction),
  };
}

/** vime takes a text as a list of its characters. */
function groundTruthsVime(input: RewardInput): PyValue {
  if (pyTruthy(input.groundTruth)) return input.groundTruth as PyValue;
  const label = input.label === undefined || input.label === null ? '' : pyStr(input.label);
  return label === '' ? [] : [label];
}

function firstTruthy(first: PyValue | undefined, second: PyValue | undefined): PyValue {
  if (pyTruthy(first)) return first as PyValue;
  return pyTruthy(second) ? (second as PyValue) : '';
}

function lowered(value: PyValue): string {
  if (typeof value === 'string') return value.toLowerCase();
  throw new PythonError('AttributeError', `'${pyTypeName(value)}' object has no attribute 'lower'`);
}

/** Python's errors for `value[-300:].lower()` on something else than text. */
function sliceable(value: PyValue): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) throw new PythonError('AttributeError', "'list' object has no attribute 'lower'");
  if (value instanceof Map) throw new PythonError('TypeError', "unhashable type: 'slice'");
  throw new PythonError('TypeError', `'${pyTypeName(value)}' object is not subscriptable`);
}

function diagnose(matched: boolean, prediction: string): RewardDiagnostic {
  if (matched) return 'matched';
  return prediction === '' ? 'missing_boxed' : 'answer_mismatch';
}
