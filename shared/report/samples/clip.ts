/**
 * Cuts a text to about `limit` characters: its beginning and its end stay, and what is left out is said. Never cuts a
 * surrogate pair.
 */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const tail = Math.floor(limit / 4);
  const head = limit - tail;
  const start = text.slice(0, isHigh(text, head - 1) ? head - 1 : head);
  const end = tail === 0 ? '' : text.slice(isLow(text, text.length - tail) ? text.length - tail + 1 : -tail);
  return `${start} […${text.length - start.length - end.length} characters left out…] ${end}`;
}

function isHigh(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
