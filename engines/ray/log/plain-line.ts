/** Terminal sequences that log formatters write: colours and cursor movements (CSI), and two-letter escapes. */
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])/g;

/** The line without its colours. */
export function plainLine(line: string): string {
  return line.includes('\u001b') ? line.replace(SEQUENCES, '') : line;
}
