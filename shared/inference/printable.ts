/** Controls, format characters (bidirectional marks among them), line separators and surrogates that stand alone. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}

/**
 * Text of a server made safe for a terminal, a log line or one line of JSON: control characters are written as escapes,
 * and what is longer than `maxCharacters` is cut with a note of how much was left out.
 */
export function printable(text: string, maxCharacters = 400): string {
  const cut = text.length > maxCharacters ? text.slice(0, maxCharacters) : text;
  const safe = cut.replace(UNPRINTABLE, escapeCharacter);
  return cut.length === text.length ? safe : `${safe}… (${text.length - cut.length} more characters)`;
}
