import { pyStrip } from '../data/python/value.js';

/**
 * relax: payload of the last `\boxed{…}` or `\fbox{…}`, white space trimmed.
 *
 * @returns '' when the last box is not there, not closed, or empty; an earlier box is never taken instead
 */
export function extractLastBoxed(text: string): string {
  const start = Math.max(text.lastIndexOf('\\boxed{'), text.lastIndexOf('\\fbox{'));
  if (start < 0) return '';
  const open = text.indexOf('{', start);
  const close = closingBrace(text, open);
  return close === -1 ? '' : pyStrip(text.slice(open + 1, close));
}

/** Where the nesting that begins at or after `start` is back at zero; −1 when it never is. Backslashes protect nothing. */
function closingBrace(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x7b) depth += 1;
    else if (code === 0x7d) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return -1;
}

/**
 * vime: the last box as it stands in the text. `\boxed ` with a space wins over every brace form and reaches to the next `$`;
 * `\fbox` is found, but see {@link unwrapBox}.
 */
export function findLastBox(text: string): string | null {
  const spaced = text.lastIndexOf('\\boxed ');
  if (spaced >= 0) return text.slice(spaced).split('$', 1)[0] as string;
  const boxed = text.lastIndexOf('\\boxed');
  const start = boxed >= 0 ? boxed : text.lastIndexOf('\\fbox');
  if (start < 0) return null;
  const close = closingBrace(text, start);
  return close === -1 ? null : text.slice(start, close + 1);
}

/** vime: what is in a box, or null for a form that it cannot unwrap (`\fbox{…}`, `\boxedtext{…}`, `\boxed\n{…}`). */
export function unwrapBox(box: string): string | null {
  const spaced = '\\boxed ';
  if (box.startsWith(spaced)) return box.slice(spaced.length);
  const braced = '\\boxed{';
  return box.startsWith(braced) && box.endsWith('}') ? box.slice(braced.length, -1) : null;
}

/** What vime's clean-up replaces, in this order. */
const REPLACEMENTS: readonly (readonly [string, string])[] = [
  ['\n', ''],
  ['\\!', ''],
  ['\\\\', '\\'],
  ['tfrac', 'frac'],
  ['dfrac', 'frac'],
  ['\\left', ''],
  ['\\right', ''],
  ['^{\\circ}', ''],
  ['^\\circ', ''],
  ['\\$', ''],
  ['\\%', ''],
  [' .', ' 0.'],
  ['{.', '{0.'],
  [' ', ''],
];

/** vime: LaTeX spacing, degree signs and sizes removed, then every space (U+0020 only). */
export function cleanLatex(text: string): string {
  return REPLACEMENTS.reduce((cleaned, [from, to]) => cleaned.split(from).join(to), text);
}
