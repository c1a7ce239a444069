import { pyStr } from './python/text.js';
import { pyGet, pyIndex, pyIterate, pyLength, pyStrip, pyTruthy, type PyDict, type PyValue } from './python/value.js';

/**
 * One text from the forms a context comes in: a string, a list of paragraphs, HotpotQA's `[title, [sentence, …]]` pairs, or
 * its column form `{title: […], sentences: [[…], …]}`. Paragraphs are joined by a blank line, a title stands on its own line.
 *
 * @throws PythonError for forms the reference converter fails on
 */
export function contextText(value: PyValue): string {
  if (value instanceof Map) return columnsText(value);
  if (Array.isArray(value)) return joinParagraphs(value.map(partText));
  return pyStrip(pyStr(value));
}

function columnsText(columns: PyDict): string {
  let titles = pyGet(columns, 'title', []);
  let sentences = pyGet(columns, 'sentences', []);
  if (typeof titles === 'string') titles = [titles];
  // A single paragraph may come without the outer list.
  if (pyTruthy(sentences) && typeof pyIndex(sentences, 0) === 'string') sentences = [sentences];
  const paragraphs = pyIterate(sentences).map((paragraph, index) => {
    const title = index < pyLength(titles) ? pyIndex(titles, index) : '';
    return titledText(title, paragraph);
  });
  return joinParagraphs(paragraphs);
}

function partText(part: PyValue): string {
  if (part instanceof Map) return columnsText(part);
  if (Array.isArray(part) && part.length === 2) return titledText(part[0] ?? null, part[1] ?? null);
  return pyStrip(pyStr(part));
}

function titledText(title: PyValue, sentences: PyValue): string {
  const body = pyIterate(sentences)
    .map((sentence) => pyStrip(pyStr(sentence)))
    .filter((sentence) => sentence !== '')
    .join(' ');
  return [pyStrip(pyStr(title)), body].filter((line) => line !== '').join('\n');
}

function joinParagraphs(paragraphs: string[]): string {
  return pyStrip(paragraphs.filter((paragraph) => paragraph !== '').join('\n\n'));
}
