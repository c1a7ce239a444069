import { pyStr } from './python/text.js';
import { pyStrip, type PyValue } from './python/value.js';
import { readRows } from './read-rows.js';
import { SkipCounter, type SkipReport } from './skip-report.js';

/** An item of an official HotpotQA file, paragraphs as texts. */
export interface HotpotItem {
  question: string;
  answer: string;
  /** Title, line break, sentences as they stand: the form of the MemAgent evaluation files. */
  gold: string[];
  distractors: string[];
}

export interface HotpotFile {
  items: HotpotItem[];
  /** Every different paragraph of the file, in file order. */
  paragraphs: string[];
  skipped: SkipReport;
}

/**
 * Reads an official HotpotQA file, in its own JSON form (`context` = `[title, [sentence, …]]` pairs) or in the columns of the
 * Hugging Face data set (`{title: […], sentences: [[…], …]}`). Paragraphs that `supporting_facts` names are gold; without such
 * names all are.
 *
 * @throws PipelineError DataInvalid for a missing or torn file
 */
export async function readHotpotFile(path: string, signal?: AbortSignal): Promise<HotpotFile> {
  const items: HotpotItem[] = [];
  const paragraphs = new Set<string>();
  const skips = new SkipCounter();
  for await (const batch of readRows(path, signal === undefined ? {} : { signal })) {
    for (const row of batch) {
      if ('malformed' in row) {
        skips.add(row, row.malformed, row.detail);
        continue;
      }
      const item = itemOf(row.value);
      if (typeof item === 'string') {
        skips.add(row, 'wrong type', item);
        continue;
      }
      items.push(item);
      for (const text of [...item.gold, ...item.distractors]) paragraphs.add(text);
    }
  }
  return { items, paragraphs: [...paragraphs], skipped: skips.report() };
}

/** The item, or why the row is none. */
function itemOf(row: PyValue): HotpotItem | string {
  if (!(row instanceof Map)) return 'the row is not an object';
  const question = textOf(row.get('question'));
  const answer = textOf(row.get('answer'));
  if (question === '' || answer === '') return '"question" and "answer" must be texts that are not blank';
  const paragraphs = paragraphsOf(row.get('context'));
  if (paragraphs === undefined || paragraphs.length === 0) {
    return '"context" must be a list of [title, [sentence, …]] pairs, or {title, sentences} columns';
  }
  const titles = supportingTitles(row.get('supporting_facts'));
  const isGold = ({ title }: Paragraph): boolean => titles.size === 0 || titles.has(title);
  const gold = distinct(paragraphs.filter(isGold));
  if (gold.length === 0) return 'no paragraph has a title that "supporting_facts" names';
  const distractors = distinct(paragraphs.filter((paragraph) => !isGold(paragraph)));
  return { question, answer, gold, distractors: distractors.filter((text) => !gold.includes(text)) };
}

interface Paragraph {
  title: string;
  text: string;
}

function paragraphsOf(context: PyValue | undefined): Paragraph[] | undefined {
  const pairs = context instanceof Map ? zip(context.get('title'), context.get('sentences')) : context;
  if (!Array.isArray(pairs)) return undefined;
  const paragraphs: Paragraph[] = [];
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [title, sentences] = pair;
    if (typeof title !== 'string' || !Array.isArray(sentences)) return undefined;
    // Official sentences begin with their own space.
    paragraphs.push({ title, text: `${title}\n${sentences.map(pyStr).join('')}` });
  }
  return paragraphs;
}

function supportingTitles(facts: PyValue | undefined): Set<string> {
  const titles = facts instanceof Map ? facts.get('title') : facts;
  if (!Array.isArray(titles)) return new Set();
  return new Set(titles.map((fact) => pyStr(Array.isArray(fact) ? (fact[0] ?? null) : fact)));
}

function zip(left: PyValue | undefined, right: PyValue | undefined): PyValue[] | undefined {
  if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return undefined;
  return left.map((value, index) => [value, right[index] ?? null]);
}

function distinct(paragraphs: Paragraph[]): string[] {
  return [...new Set(paragraphs.map(({ text }) => text))];
}

function textOf(value: PyValue | undefined): string {
  return typeof value === 'string' ? pyStrip(value) : '';
}
