import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hashFile, writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import { readJsonLines } from '../../shared/artifacts/json-lines.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { LineIndex } from '../../shared/data/line-index.js';
import { AtomicTextWriter } from '../../shared/data/line-writer.js';
import { selectPrompts, successHistogram, type ScreenedPrompt } from '../../shared/data/screening.js';
import type { StoredSample, StoredSummary } from '../../shared/evaluation/types.js';
import type { CommandContext } from '../command.js';
import type { ScreenOptions } from '../commands/data.js';

const NOTE = 'Selected by the base model’s own tries: a set with reward variance, never an unbiased metric.';

/** @returns 0; the splits and their manifest are written together or, when too few prompts are usable, not at all */
export async function screenData(
  { terminal }: CommandContext,
  samples: string,
  options: ScreenOptions
): Promise<number> {
  const summaryPath = samples.replace(/\.jsonl$/, '.summary.json');
  const summary = JSON.parse(await readFile(summaryPath, 'utf8').catch(missing(summaryPath))) as StoredSummary;
  const [source, tries] = [await hashOf(options.data), await hashOf(samples)];
  refuseOthers(summary, { data: source, samples: tries, dataPath: options.data, samplesPath: samples });
  const index = await LineIndex.build(options.data);
  const prompts = await screened(samples, index);
  const wish = { samples: summary.sampling_count, train: options.train, heldOut: options.heldOut };
  const splits = selectPrompts(prompts, wish);
  const files = {
    train: await writeSplit(join(options.out, 'train.jsonl'), index, splits.train),
    heldOut: await writeSplit(join(options.out, 'heldout.jsonl'), index, splits.heldOut),
  };
  const successes = new Map(prompts.map((prompt) => [prompt.item, prompt.successes]));
  const manifest = {
    schema: 1,
    note: NOTE,
    source: { file: basename(options.data), sha256: source },
    tries: { file: basename(samples), sha256: tries, model: summary.model, samples_per_item: wish.samples },
    sampling: { temperature: summary.temperature, top_p: summary.top_p, seed: summary.seed, metric: 'boxed_em' },
    candidates: prompts.length,
    prompts_by_successes: successHistogram(prompts, wish.samples),
    usable: splits.usable,
    preferred: splits.preferred,
    repeated: splits.repeated,
    splits: Object.fromEntries(
      (['train', 'heldOut'] as const).map((name) => [
        name,
        { ...files[name], items: splits[name].map((item) => ({ item, successes: successes.get(item) })) },
      ])
    ),
  };
  const path = join(options.out, 'screening.json');
  await writeFileAtomic(path, `${JSON.stringify(manifest, null, 2)}\n`);
  if (options.json === true) terminal.out(JSON.stringify({ manifest: path, ...manifest }));
  else {
    terminal.out(`prompts by successes of ${wish.samples}: ${manifest.prompts_by_successes.join(' ')}`);
    terminal.out(
      `train.jsonl: ${splits.train.length} prompts, heldout.jsonl: ${splits.heldOut.length}, of ${splits.usable} usable`
    );
    terminal.out(`${path}: ${NOTE}`);
  }
  return EXIT.ok;
}

function missing(path: string): () => never {
  return () => {
    throw new UserError(`cannot read ${path}`, {
      cure: 'Give the samples file of `memagent eval --samples-per-item 8`; its summary lies beside it.',
      exitCode: EXIT.usage,
    });
  };
}

async function hashOf(path: string): Promise<string> {
  return (await hashFile(path).catch(missing(path))).sha256;
}

interface Given {
  data: string;
  samples: string;
  dataPath: string;
  samplesPath: string;
}

/** Tries of other data, or of a changed file, would choose the wrong prompts without anybody noticing. */
function refuseOthers(summary: StoredSummary, given: Given): void {
  const problems = [
    ...(summary.sampling_count > 1 ? [] : ['one try a prompt tells nothing: evaluate with --samples-per-item 8']),
    ...(summary.errors === 0 ? [] : [`${summary.errors} samples still have request errors`]),
    ...(summary.data_sha256 === given.data ? [] : [`${given.dataPath} is not the file that was evaluated`]),
    ...(summary.samples_sha256 === given.samples ? [] : [`${given.samplesPath} was changed after its evaluation`]),
  ];
  if (problems.length > 0)
    throw new UserError('these samples cannot choose prompts', {
      problems,
      cure: 'Evaluate the base model on this very file, converted by `memagent data convert`, and finish the evaluation.',
    });
}

async function screened(samples: string, index: LineIndex): Promise<ScreenedPrompt[]> {
  const successes = new Map<number, number>();
  await readJsonLines(samples, (value) => {
    const { item, judge_boxed_em: score } = value as StoredSample;
    if (item !== undefined) successes.set(item, (successes.get(item) ?? 0) + (score === 1 ? 1 : 0));
  });
  const prompts: ScreenedPrompt[] = [];
  for (const [item, count] of [...successes].sort(([a], [b]) => a - b)) {
    const [row] = await index.readJson<{ metadata?: { question?: string; context?: string } }>([item]);
    const text = JSON.stringify([row?.metadata?.question, row?.metadata?.context]);
    prompts.push({ item, successes: count, sha256: createHash('sha256').update(text).digest('hex') });
  }
  return prompts;
}

async function writeSplit(
  path: string,
  index: LineIndex,
  items: readonly number[]
): Promise<{ file: string; sha256: string; bytes: number }> {
  const writer = await AtomicTextWriter.create(path);
  try {
    for (const item of items) await writer.write(`${await index.readLine(item)}\n`);
  } catch (error) {
    await writer.discard();
    throw error;
  }
  return { file: basename(path), ...(await writer.commit()) };
}
