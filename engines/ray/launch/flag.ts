/** One flag of a framework's command line, with where it comes from. */
export interface Flag {
  /** With its dashes. */
  name: string;
  /** Absent: a switch. */
  value?: string | number;
  /** The recipe's field, or the place of the job, or `fixed`. */
  from: string;
  /** Why it is there or has this value, where the reference's own script has not. */
  why?: string;
}

/** A flag that takes a value. */
export function flag(name: string, value: string | number, from: string, why?: string): Flag {
  return { name, value, from, ...(why === undefined ? {} : { why }) };
}

/** Flags that are always the same, in the reference's words. */
export function fixed(...flags: (string | readonly [name: string, value: string | number])[]): Flag[] {
  return flags.map((given) =>
    typeof given === 'string' ? { name: given, from: 'fixed' } : { name: given[0], value: given[1], from: 'fixed' }
  );
}

/** A flag's value as it stands on the command line. Python reads both forms; small rates are easier to read as 1e-6. */
export function valueText(value: string | number): string {
  if (typeof value === 'string') return value;
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
}

/** The words of a command line. */
export function commandWords(flags: readonly Flag[]): string[] {
  return flags.flatMap(({ name, value }) => (value === undefined ? [name] : [name, valueText(value)]));
}
