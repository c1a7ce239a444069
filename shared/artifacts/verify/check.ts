/** Problems of one check that are listed; more are counted. */
const LISTED_PROBLEMS = 50;

/** One thing that was checked. */
export interface VerifyCheck {
  /** Short name, e.g. `files`. */
  name: string;
  /** What was computed again and compared with what, in words. */
  what: string;
  /** Things checked: files, steps, samples. */
  checked: number;
  /** Every lie found, one sentence each, at most 50; empty = all is as it says. */
  problems: string[];
  /** Problems in all, also those not listed. */
  problemCount: number;
  /** What could not be looked at here, one sentence each. */
  notes?: string[];
}

/** Collects one check's findings. */
export class CheckBuilder {
  private readonly problems: string[] = [];
  private problemCount = 0;
  private checked = 0;
  private readonly notes: string[] = [];

  constructor(
    private readonly name: string,
    private readonly what: string
  ) {}

  /** Counts things that were checked. */
  count(things = 1): void {
    this.checked += things;
  }

  problem(sentence: string): void {
    this.problemCount += 1;
    if (this.problems.length < LISTED_PROBLEMS) this.problems.push(sentence);
  }

  /** Says that something could not be looked at, which is no lie. */
  note(sentence: string): void {
    this.notes.push(sentence);
  }

  /** Compares a recorded value with the one that was computed again; numbers must be equal to the last bit. */
  equal(where: string, recorded: unknown, derived: unknown): void {
    if (!sameValue(recorded, derived))
      this.problem(`${where} is ${show(recorded)}, but follows to be ${show(derived)}.`);
  }

  /** Runs a part of the check; what it throws (a torn file) is a problem, not the end of everything. */
  async attempt(where: string, part: () => Promise<void>): Promise<void> {
    try {
      await part();
    } catch (error) {
      this.problem(`${where}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  done(): VerifyCheck {
    const { name, what, checked, problems, problemCount, notes } = this;
    return { name, what, checked, problems, problemCount, ...(notes.length === 0 ? {} : { notes }) };
  }
}

/** Equality of JSON-like values; NaN equals NaN, 0 does not equal −0. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  if (keys.length !== others.length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) && sameValue((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
  );
}

/** A value as it comes back from JSON: without members that are undefined. */
export function jsonOf(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

function show(value: unknown): string {
  const text = value === undefined ? 'not there' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}
