/** Types of the conformance runner: case files in, one result a file out. */

/** One case of a case file. What `input` and the expectations hold depends on the file. */
export interface ConformanceCase {
  id: string;
  tag?: string;
  input: unknown;
  expected: unknown;
  /** The second reference's answer where it was run; null or absent = not run. */
  expected_vime?: unknown;
  /** Further expectations of single files. */
  [member: string]: unknown;
}

export interface CheckContext {
  /** Absolute path of the case file. */
  path: string;
  /** Absolute path of the folder the case file lies in. */
  directory: string;
  /** The file as it was read, for checkers that need what JSON.parse loses (1 and 1.0, order of keys). */
  text: string;
  /** The whole parsed document: its header, and everything of a file without a `cases` list. */
  document: Readonly<Record<string, unknown>>;
}

export interface CaseResult {
  id: string;
  /** Empty = passed. Otherwise what differs, one line each, e.g. `expected.score: expected 1, got 0`. */
  differences: string[];
}

/** Checks all cases of one case file. */
export interface Checker {
  /** Path of the case file below the case folder, with `/`, e.g. `reward.json` or `policy/adamw.json`. */
  file: string;
  /**
   * @param cases the document's `cases`; empty for a file without that list (use `context.document`)
   * @returns one result a case, also for cases that pass; an exception fails the whole file, so use {@link perCase}
   */
  check(cases: ConformanceCase[], context: CheckContext): CaseResult[] | Promise<CaseResult[]>;
}

export interface FileResult {
  /** Path below the case folder, with `/`. */
  file: string;
  total: number;
  passed: number;
  failed: number;
  /** The cases that failed, in file order. */
  failures: CaseResult[];
}

/**
 * Makes a `check` function from a function for one case. An exception is a failure of its case, not of the run.
 *
 * @param differences returns what differs, one line each; an empty list = passed
 */
export function perCase(
  differences: (testCase: ConformanceCase, context: CheckContext) => string[] | Promise<string[]>
): Checker['check'] {
  return async (cases, context) => {
    const results: CaseResult[] = [];
    for (const testCase of cases) {
      try {
        results.push({ id: testCase.id, differences: await differences(testCase, context) });
      } catch (error) {
        results.push({ id: testCase.id, differences: [`threw ${describeError(error)}`] });
      }
    }
    return results;
  };
}

/** Class and message of anything that was thrown. */
export function describeError(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
