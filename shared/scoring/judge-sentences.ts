import type { VerdictOutcome } from '../contracts/progress.js';
import { namedModels } from './judge-checks.js';
import { requiredArms } from './judge-rows.js';
import {
  asksFor,
  capitalized,
  listWords,
  METRIC_NAMES,
  namedDatasets,
  place,
  shortNumber,
  type NamedDataset,
} from './judge-words.js';
import type { PairedStatistics } from './statistics.js';
import type { BaselineRow, ContextRow, JudgeInput, PairRow } from './verdict-types.js';

export interface VerdictRows {
  pairs: readonly PairRow[];
  baselines: readonly BaselineRow[];
  contexts: readonly ContextRow[];
}

/** The acceptance rule as it was applied. */
export function ruleText(input: JudgeInput, required: readonly string[]): string {
  const metric = METRIC_NAMES[input.metric];
  const lengths = `every length (${listWords(input.lengths.map(({ length }) => String(length)))})`;
  const dev = input.devDataset === null ? '' : ', and in boxed EM on the development set';
  const pairs = `at ${lengths} the arms differ by at most ${input.tolerancePoints} percentage points of ${metric}`;
  const baselines = `${listWords(required)} is strictly above the frozen base in ${metric} at every length${dev}`;
  return `${capitalized(joinParts(input, pairs, baselines, '; '))}.`;
}

/** Every part of the rule that does not hold, in plain words. */
export function failedChecks(input: JudgeInput, rows: VerdictRows): string[] {
  const datasets = new Map(namedDatasets(input).map((dataset) => [dataset.dataset, dataset]));
  const pairs = rows.pairs.filter((row) => !row.passed).map((row) => failedPair(row));
  const baselines = rows.baselines
    .filter((row) => row.required && !row.passed)
    .map((row) => failedBaseline(row, datasets.get(row.dataset)));
  return [...pairs, ...baselines];
}

function failedPair(row: PairRow): string {
  const gap = shortNumber(row.gap_points, row.tolerance_points);
  const values = `${shortNumber(row.first_pct)} % and ${shortNumber(row.second_pct)} %`;
  return (
    `at length ${row.length} ${row.first} and ${row.second} differ by ${gap} points of ${METRIC_NAMES[row.metric]} ` +
    `(${values}; ${row.tolerance_points} allowed)`
  );
}

function failedBaseline(row: BaselineRow, dataset: NamedDataset | undefined): string {
  const where = dataset === undefined ? `on ${row.dataset}` : place(dataset);
  return (
    `${where} ${row.arm} (${shortNumber(row.trained_pct)} % ${METRIC_NAMES[row.metric]}) is not above the frozen base ` +
    `(${shortNumber(row.base_pct)} %)`
  );
}

/** The verdict in plain words, with what must never be left out of it. */
export function sentenceOf(
  input: JudgeInput,
  outcome: VerdictOutcome,
  facts: VerdictRows & { reasons: readonly string[]; failed: readonly string[] }
): string {
  const disclosures = facts.contexts.filter((row) => !row.full_context).map((row) => truncationText(input, row));
  const tail = [...resolutionSummary(facts.pairs), ...disclosures, ...leftOut(input)]
    .map((text) => ` ${text}`)
    .join('');
  switch (outcome) {
    case 'passed':
      return `Passed: ${passedText(input, facts)}.${tail}`;
    case 'not-passed':
      return `Not passed: ${some(facts.failed, 'failed check')}.${tail}`;
    case 'not-comparable':
      return `Not comparable, so there is no verdict: ${some(facts.reasons.map(withoutStop), 'reason')}.${tail}`;
  }
}

function passedText(input: JudgeInput, rows: VerdictRows): string {
  const widest = Math.max(0, ...rows.pairs.map((row) => row.gap_points));
  const arms = listWords([...new Set(rows.pairs.flatMap((row) => [row.first, row.second]))]);
  const lengths = listWords(input.lengths.map(({ length }) => String(length)));
  const required = requiredArms(input.arms).map((arm) => arm.name);
  const dev = input.devDataset === null ? '' : ' and, in boxed EM, on the development set';
  const gap = shortNumber(widest, input.tolerancePoints);
  const pairs =
    `${arms} differ by at most ${gap} points of ${METRIC_NAMES[input.metric]} ` +
    `at ${input.lengths.length === 1 ? 'length' : 'lengths'} ${lengths} (${input.tolerancePoints} allowed)`;
  const baselines = `${listWords(required)} ${required.length === 1 ? 'is' : 'are'} above the frozen base at every length${dev}`;
  return joinParts(input, pairs, baselines, ', and ');
}

function joinParts(input: JudgeInput, pairs: string, baselines: string, between: string): string {
  const parts = [...(asksFor(input, 'pairs') ? [pairs] : []), ...(asksFor(input, 'baselines') ? [baselines] : [])];
  return parts.join(between);
}

function leftOut(input: JudgeInput): string[] {
  return [
    ...(asksFor(input, 'pairs') ? [] : ['One arm was given: the arms’ part of the rule was left out.']),
    ...(asksFor(input, 'baselines') ? [] : ['The frozen base was not given: its part of the rule was left out.']),
  ];
}

/** The first three, and how many more there are: all of them are listed in the verdict. */
function some(texts: readonly string[], what: string): string {
  const rest = texts.length - 3;
  const shown = texts.slice(0, 3).join('; ');
  return rest > 0 ? `${shown}; and ${rest} more ${what}${rest === 1 ? '' : 's'}` : shown;
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}

function truncationText(input: JudgeInput, row: ContextRow): string {
  const dataset = namedDatasets(input).find(({ dataset: name }) => name === row.dataset);
  const where = dataset === undefined ? row.dataset : place(dataset);
  return (
    `${capitalized(where)}, ${row.beyond_max_chunks} of ${row.samples} contexts are longer than ${row.max_chunks} chunks ` +
    `and only their beginning was read: this is not a full-context result.`
  );
}

/** What a reader must know beside the outcome. */
export function notes(input: JudgeInput, rows: VerdictRows): string[] {
  const found = rows.contexts.map((row) => (row.full_context ? fullText(input, row) : truncationText(input, row)));
  found.push(...rows.pairs.flatMap((row) => (row.statistics === null ? [] : resolutionText(row, row.statistics))));
  found.push(...leftOut(input));
  if (input.devDataset === null) found.push('No development set was given: its part of the rule was left out.');
  const evaluations = namedModels(input).flatMap((model) => Object.values(model.evaluations));
  if (evaluations.some(({ samples }) => samples === null))
    found.push(
      'Samples of some evaluations were not given: their summaries were taken at their word, without statistics.'
    );
  if (input.arms.length > 0) {
    found.push(
      'Each arm was trained once: how much two trainings of the same arm differ is not known, and no statistic here covers it.'
    );
  }
  found.push('Confidence intervals and tests are additional; the outcome follows from the percentages alone.');
  return found;
}

function fullText(input: JudgeInput, row: ContextRow): string {
  const dataset = namedDatasets(input).find(({ dataset: name }) => name === row.dataset);
  return `${capitalized(dataset?.name ?? row.dataset)}: all ${row.samples} contexts were read to their end.`;
}

/** The smallest difference that the shortest evaluation can show: printed beside every verdict. */
function resolutionSummary(pairs: readonly PairRow[]): string[] {
  const known = pairs.flatMap(({ statistics }) => statistics ?? []);
  const [worst] = known.sort((a, b) => a.samples - b.samples);
  const possible = worst?.smallest_possible_points ?? null;
  if (worst === undefined || possible === null) return [];
  return [
    `With ${worst.samples} samples a length, a difference below ${shortNumber(possible)} points cannot be told from chance.`,
  ];
}

/** The smallest difference that the number of samples can show. */
function resolutionText(row: PairRow, statistics: PairedStatistics): string {
  const { samples, smallest_possible_points: possible, smallest_likely_points: likely } = statistics;
  const name = `Length ${row.length}, ${row.first} and ${row.second}, ${samples} samples`;
  const found =
    likely === 0
      ? 'the two have the same score on every sample'
      : `a true difference of ${shortNumber(likely)} points would be found with 80 % probability (5 % level)`;
  const least =
    possible === null ? '' : `a difference below ${shortNumber(possible)} points cannot be told from chance, and `;
  const coarse =
    Math.max(possible ?? 0, likely) > row.tolerance_points
      ? ` The tolerance of ${row.tolerance_points} points is finer than that: more samples would make the rule sharper.`
      : '';
  return `${name}: ${least}${found}.${coarse}`;
}
