import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Recipe } from '../../contracts/recipe.js';
import { screenPrompts, type Screening, type ScreeningManifest } from '../../evaluation/screen-splits.js';
import type { StoredSummary } from '../../evaluation/types.js';
import { SCREENING } from '../training-data.js';
import { CheckBuilder, jsonOf, type VerifyCheck } from './check.js';
import { readAnswers, verifyEvaluation, type Answers } from './verify-evaluations.js';

/** Every try of a Pass@N screening scored again, the choice of prompts made again from them, and the splits line by line. */
export async function verifyScreening(directory: string, recipe: Recipe): Promise<VerifyCheck> {
  const check = new CheckBuilder(
    'screening',
    'scores of every try again, the choice of training prompts again from them, the splits line by line'
  );
  const { screening } = recipe.data;
  if (screening === undefined || !existsSync(join(directory, SCREENING.manifest))) return check.done();
  const rows = new Map<number, Answers>();
  await check.attempt(SCREENING.source, () => readAnswers(directory, SCREENING.source, rows));
  const name = SCREENING.tries.replace(/\.jsonl$/, '');
  await check.attempt(name, () =>
    verifyEvaluation(directory, { name, model: 'base', data: SCREENING.source, rows }, check)
  );
  await check.attempt(SCREENING.manifest, async () => {
    const summary = await readJson<StoredSummary>(directory, SCREENING.summary);
    const { train, heldOut, minPasses, maxPasses, tries } = screening;
    const derived = await screenPrompts({
      dataPath: join(directory, SCREENING.source),
      triesPath: join(directory, SCREENING.tries),
      summary,
      wish: { train, heldOut, passes: { min: minPasses, max: maxPasses ?? tries - 1 } },
    });
    check.equal(`${SCREENING.summary}, sampling_count`, summary.sampling_count, tries);
    await verifyChoice(directory, derived, check);
  });
  return check.done();
}

async function verifyChoice(directory: string, derived: Screening, check: CheckBuilder): Promise<void> {
  const manifest = await readJson<ScreeningManifest>(directory, SCREENING.manifest);
  for (const [field, value] of Object.entries(derived.manifest))
    check.equal(`${SCREENING.manifest}, ${field}`, manifest[field as keyof ScreeningManifest], jsonOf(value));
  const successes = new Map(derived.prompts.map(({ item, successes: count }) => [item, count]));
  for (const split of ['train', 'heldOut'] as const) {
    const items = derived.items[split].map((item) => ({ item, successes: successes.get(item) }));
    check.equal(`${SCREENING.manifest}, items of ${split}`, manifest.splits[split].items, items);
    const lines: string[] = [];
    for (const item of derived.items[split]) lines.push(`${await derived.index.readLine(item)}\n`);
    check.count(items.length);
    if ((await readFile(join(directory, SCREENING[split]), 'utf8')) !== lines.join(''))
      check.problem(`${SCREENING[split]} is not the chosen rows of ${SCREENING.source}.`);
  }
}

async function readJson<T>(directory: string, path: string): Promise<T> {
  return JSON.parse(await readFile(join(directory, path), 'utf8')) as T;
}
