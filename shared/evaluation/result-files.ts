import { readFile } from 'node:fs/promises';
import { hashFile, writeFileAtomic } from '../artifacts/atomic-file.js';
import { AtomicTextWriter } from '../data/line-writer.js';
import { aggregate } from '../scoring/aggregate.js';
import { conditionsOf } from './conditions.js';
import type { EvaluationData } from './dataset.js';
import type { EvaluationSettings } from './settings.js';
import type { EvaluateOptions, StoredSummary } from './types.js';
import type { DoneSample, WorkingFile } from './working-file.js';

/**
 * Writes the samples in the order of the data and the summary over them. Both hold the same bytes whatever order the samples
 * were completed in.
 */
export async function writeResults(
  options: EvaluateOptions,
  settings: EvaluationSettings,
  data: EvaluationData,
  working: WorkingFile
): Promise<StoredSummary> {
  const ordered = [...working.done.entries()].sort(([a], [b]) => a - b).map(([, sample]) => sample);
  const writer = await AtomicTextWriter.create(options.samplesPath);
  try {
    for (const sample of ordered) await writer.write(`${await working.line(sample)}\n`);
  } catch (error) {
    await writer.discard();
    throw error;
  }
  const { sha256 } = await writer.commit();
  const summary = summarize(options, settings, data, ordered, sha256);
  await writeFileAtomic(options.summaryPath, `${JSON.stringify(summary, null, 2)}\n`);
  return summary;
}

function summarize(
  options: EvaluateOptions,
  settings: EvaluationSettings,
  data: EvaluationData,
  samples: readonly DoneSample[],
  samplesSha256: string
): StoredSummary {
  const sum = (field: 'context_tokens' | 'tokens_read'): number =>
    samples.reduce((total, sample) => total + sample[field], 0);
  return {
    ...aggregate(samples),
    ...(settings.samplesPerItem === 1 ? {} : { pass_at_n_pct: passAtN(samples, settings.samplesPerItem) }),
    ...conditionsOf(options, settings, data),
    contexts_truncated: samples.filter((sample) => sample.context_truncated).length,
    context_tokens: sum('context_tokens'),
    tokens_read: sum('tokens_read'),
    settings_sha256: settings.sha256,
    samples_sha256: samplesSha256,
  };
}

/** Percent of items of which at least one sample is right by sub_em. */
function passAtN(samples: readonly DoneSample[], samplesPerItem: number): number {
  const items = samples.length / samplesPerItem;
  let passed = 0;
  for (let item = 0; item < items; item += 1) {
    const own = samples.slice(item * samplesPerItem, (item + 1) * samplesPerItem);
    if (own.some((sample) => sample.error === undefined && sample.judge_sub_em === 1)) passed += 1;
  }
  return (passed / items) * 100;
}

/** The summary of an earlier call with the same settings, all samples answered and its samples file untouched. */
export async function completeResults(
  options: EvaluateOptions,
  settings: EvaluationSettings
): Promise<StoredSummary | undefined> {
  try {
    const summary = JSON.parse(await readFile(options.summaryPath, 'utf8')) as StoredSummary;
    if (summary.settings_sha256 !== settings.sha256 || summary.errors !== 0) return undefined;
    return (await hashFile(options.samplesPath)).sha256 === summary.samples_sha256 ? summary : undefined;
  } catch {
    // No summary, or one that is not ours: it is written anew.
    return undefined;
  }
}
