import type { Flavour } from '../types.js';
import { valueText, type Flag } from './flag.js';
import { OWN, REFERENCE_SCRIPTS, type ReferenceScript } from './reference-flags.js';

/** One flag of ours or of the reference's script, beside the other. */
export interface ComparedFlag {
  name: string;
  /** As on the command line; '' for a switch, undefined when we do not give it. */
  ours: string | undefined;
  /** The same of the reference's script; “own place” where every installation has its own. */
  reference: string | undefined;
  verdict: 'equal' | 'added' | 'changed' | 'left out';
  /** The recipe's field it comes from, or why it is not as in the script. */
  because: string;
}

/** Every flag of the command beside the reference's own script: ours in their order, then what is left out. */
export function compareFlags(flags: readonly Flag[], flavour: Flavour): ComparedFlag[] {
  const script = REFERENCE_SCRIPTS[flavour];
  const given = new Set(flags.map(({ name }) => name));
  const missing = Object.keys(script.flags).filter((name) => !given.has(name));
  return [...flags.map((flag) => compareOne(flag, script)), ...missing.map((name) => leftOut(name, script))];
}

function compareOne({ name, value, from, why }: Flag, { flags }: ReferenceScript): ComparedFlag {
  const ours = value === undefined ? '' : valueText(value);
  if (!Object.hasOwn(flags, name)) return { name, ours, reference: undefined, verdict: 'added', because: why ?? from };
  const reference = referenceText(flags[name]);
  if (flags[name] === OWN || reference === ours) return { name, ours, reference, verdict: 'equal', because: from };
  return { name, ours, reference, verdict: 'changed', because: why ?? `the recipe says so: ${from}` };
}

function leftOut(name: string, { flags, leftOut: reasons }: ReferenceScript): ComparedFlag {
  const because = reasons[name] ?? 'the recipe does not ask for it';
  return { name, ours: undefined, reference: referenceText(flags[name]), verdict: 'left out', because };
}

function referenceText(value: ReferenceScript['flags'][string] | undefined): string {
  if (value === OWN) return 'own place';
  return value === true || value === undefined ? '' : valueText(value);
}
