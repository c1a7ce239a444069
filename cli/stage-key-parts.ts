import { canonicalJson } from '../shared/contracts/canonical-json.js';

/** Leaves of a stage key's parts by path, e.g. `grpo.learningRate` → `0.0002`; sorted by path. Absent members are left out. */
export function flatParts(parts: Record<string, unknown>): Map<string, string> {
  const flat = new Map<string, string>();
  const visit = (path: string, value: unknown): void => {
    if (value === undefined) return;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) flat.set(path, canonicalJson(value));
    else for (const [name, member] of Object.entries(value)) visit(path === '' ? name : `${path}.${name}`, member);
  };
  visit('', parts);
  return new Map([...flat].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** One part in which two stages differ. */
export interface PartDifference {
  part: string;
  /** Absent on the side that does not have it. */
  here?: string;
  there?: string;
}

/** Parts that differ between two stages' keys, sorted by name. */
export function differingParts(here: Record<string, unknown>, there: Record<string, unknown>): PartDifference[] {
  const [a, b] = [flatParts(here), flatParts(there)];
  const names = [...new Set([...a.keys(), ...b.keys()])].sort();
  return names
    .filter((name) => a.get(name) !== b.get(name))
    .map((part) => {
      const [mine, theirs] = [a.get(part), b.get(part)];
      return {
        part,
        ...(mine === undefined ? {} : { here: mine }),
        ...(theirs === undefined ? {} : { there: theirs }),
      };
    });
}
