/** What the case files made with a tokenizer have in common. */
import { createHash } from 'node:crypto';
import { loadReferenceTokenizer } from '../../tokenizer/reference-tokenizer.js';
import type { Tokenizer } from '../../tokenizer/types.js';
import { perCase, type CheckContext, type Checker, type ConformanceCase } from '../types.js';

/** A text as the cases write it: itself, or units repeated. */
export type CaseText = string | { text: string } | { repeat: { unit: string; count: number }[] };

export function textOf(value: CaseText): string {
  if (typeof value === 'string') return value;
  if ('text' in value) return value.text;
  return value.repeat.map(({ unit, count }) => unit.repeat(count)).join('');
}

export function sha256Text(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** SHA-256 of the decimal ids joined by commas. */
export function sha256Ids(ids: readonly number[]): string {
  return sha256Text(ids.join(','));
}

interface Header {
  tokenizer: { tokenizer_json_sha256: string; tokenizer_config_sha256: string };
}

/** A checker of cases that need the reference tokenizer; it is loaded once for the file, from the hashes in its header. */
export function tokenizerChecker(
  file: string,
  differencesOf: (testCase: ConformanceCase, tokenizer: Tokenizer) => string[] | Promise<string[]>
): Checker {
  return {
    file,
    async check(cases, context) {
      const tokenizer = await tokenizerOf(context);
      return await perCase((testCase) => differencesOf(testCase, tokenizer))(cases, context);
    },
  };
}

async function tokenizerOf({ document }: CheckContext): Promise<Tokenizer> {
  const { tokenizer } = document['header'] as Header;
  return await loadReferenceTokenizer({
    tokenizerJson: tokenizer.tokenizer_json_sha256,
    tokenizerConfig: tokenizer.tokenizer_config_sha256,
  });
}

/** The members of `actual` that `expected` has: what a case does not state is not compared. */
export function project(expected: unknown, actual: unknown): unknown {
  if (Array.isArray(expected) && Array.isArray(actual))
    return actual.map((item, at) => (at < expected.length ? project(expected[at], item) : item));
  if (!isRecord(expected) || !isRecord(actual)) return actual;
  return Object.fromEntries(Object.keys(expected).map((key) => [key, project(expected[key], actual[key])]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Our error beside a reference's: pairs of patterns that mean the same refusal. */
const SAME_REFUSALS: readonly [reference: RegExp, ours: RegExp][] = [
  [/returned (\d+) response tokens, exceeding its limit (\d+)/, /the reply has (\d+) tokens, its limit is (\d+)/],
  [/returned no trainable response tokens/, /the reply has no token$/],
  [/rollout_log_probs are not aligned/, /log-probs for \d+ tokens/],
  [/(?:must|limits) (?:be )?positive/, /must be a positive whole number/],
];

/** What differs between the error a reference raised and ours; nothing when both refuse the same for the same numbers. */
export function refusalDifferences(expected: { message: string }, actual: unknown): string[] {
  const message = actual instanceof Error ? actual.message : 'no error';
  for (const [reference, ours] of SAME_REFUSALS) {
    const wanted = reference.exec(expected.message);
    if (wanted === null) continue;
    const got = ours.exec(message);
    if (got !== null && wanted.slice(1).join() === got.slice(1).join()) return [];
  }
  return [`error: expected "${expected.message}", got "${message}"`];
}

/** What a function throws, or undefined. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}
