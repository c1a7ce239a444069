import type { ComparedFlag } from '../engines/ray/launch/compare-flags.js';
import { REFERENCE_SCRIPTS } from '../engines/ray/launch/reference-flags.js';
import type { Flavour } from '../engines/ray/types.js';

/** The comparison with the reference's script as a Markdown table. */
export function explanation(flags: readonly ComparedFlag[], flavour: Flavour): string {
  const count = (verdict: ComparedFlag['verdict']): number => flags.filter((flag) => flag.verdict === verdict).length;
  const counts = (['equal', 'changed', 'added', 'left out'] as const).map((verdict) => `${count(verdict)} ${verdict}`);
  const rows = flags.map(
    ({ name, ours, reference, verdict, because }) =>
      `| ${code(name)} | ${cell(ours)} | ${cell(reference)} | ${verdict} | ${because} |`
  );
  return [
    `Reference: ${REFERENCE_SCRIPTS[flavour].script}. ${counts.join(', ')}.`,
    '',
    '| flag | here | there | | from, or why |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** A switch has no value; a flag that a side does not give has a dash. */
function cell(value: string | undefined): string {
  if (value === undefined) return '–';
  return value === '' ? 'given' : code(value);
}

function code(text: string): string {
  return `\`${text}\``;
}
