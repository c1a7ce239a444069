/**
 * Terminal sequences: CSI (colours, cursor); OSC and other strings with their content, when they have an end (without one only
 * their beginning goes: nothing is hidden from the reader); two-letter escapes.
 */
const SEQUENCES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g;

/** C0 and C1 controls, line separators, bidirectional overrides, and invisible characters that hide text. */
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Longest text shown; a model can write megabytes. */
const LONGEST_TEXT = 4_000;

/**
 * Makes a text that came from a model, a data file or a failure harmless for a terminal: no control character but the line
 * break, no escape sequence, bounded length.
 *
 * @param longest - characters kept (UTF-16 units)
 */
export function cleanText(text: string, longest = LONGEST_TEXT): string {
  // Cut first: the patterns run over what can be shown, not over ten megabytes. Sequences can only make it shorter.
  const head = text.length > longest * 4 ? text.slice(0, longest * 4) : text;
  const clean = head
    .replace(SEQUENCES, '')
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(CONTROLS, ' ')
    .toWellFormed();
  return clean.length > longest || head.length < text.length ? `${clean.slice(0, longest)}…`.toWellFormed() : clean;
}

/** The same on one line. */
export function cleanLine(text: string, longest = 300): string {
  return cleanText(text.slice(0, longest * 8), longest)
    .replace(/\s+/g, ' ')
    .trim();
}
