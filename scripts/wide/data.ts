import { AtomicTextWriter } from '../../shared/data/line-writer.js';
import type { DatasetRow } from '../../shared/contracts/dataset.js';

/** The words that the Python yardstick makes its contexts of. */
const WORDS = 'river Karlstad founded 1874 the museum of painter born near university album'.split(' ');
const WORDS_A_SENTENCE = 40;

/** Enough text for a token whatever the tokenizer: what is beyond the last chunk is cut off. Unit: characters. */
const CHARACTERS_A_TOKEN = 7;

/** Writes `items` rows whose contexts have at least `tokens` tokens each; every context is another text. */
export async function writeItems(path: string, items: number, tokens: number): Promise<void> {
  const writer = await AtomicTextWriter.create(path);
  try {
    for (let item = 0; item < items; item += 1) await writer.write(`${JSON.stringify(rowOf(item, tokens))}\n`);
  } catch (error) {
    await writer.discard();
    throw error;
  }
  await writer.commit();
}

function rowOf(item: number, tokens: number): DatasetRow {
  const question = `Which university was founded near river ${item} in 1874?`;
  const context = contextOf(item, tokens * CHARACTERS_A_TOKEN);
  const metadata = { question, context, ground_truth: ['Karlstad'], num_docs: null, data_source: 'made' };
  return { prompt: question, label: 'Karlstad', metadata };
}

function contextOf(item: number, characters: number): string {
  const sentences: string[] = [];
  for (let length = 0; length < characters;) {
    const words = Array.from(
      { length: WORDS_A_SENTENCE },
      (_, at) => WORDS[(item + length + at * 5) % WORDS.length] as string
    );
    const sentence = `${words.join(' ')}. `;
    sentences.push(sentence);
    length += sentence.length;
  }
  return sentences.join('');
}
