import type { EvaluationSample } from '../../scoring/evaluation-types.js';
import { printable } from '../html.js';
import { datasetLabel, findEvaluation, type RunData } from '../run-data.js';
import { clip } from './clip.js';
import { readSamples } from './read-samples.js';

/** One model's result of one item, with short names: there are thousands of them in the page. */
export interface ShownResult {
  /** Prediction. */
  p: string;
  /** sub_EM, boxed EM: 0 or 1. F1: 0 … 1. */
  s: number;
  b: number;
  f: number;
  /** Response of the final turn. */
  r: string;
  /** Memory after each chunk; `0` = the same as the one before. */
  m: (string | 0)[];
  /** Request error. */
  e?: string;
}

export interface ShownItem {
  /** Position in the data set. */
  i: number;
  q: string;
  a: string[];
  /** Chunks read, tokens of the context. */
  n: number;
  c: number;
  /** 1 when the context was longer than what was read. */
  t: 0 | 1;
  /** Results in the order of the data set's models; null where a model has none. */
  x: (ShownResult | null)[];
}

export interface ShownDataset {
  name: string;
  label: string;
  models: string[];
  /** Items there are; fewer may be shown. */
  total: number;
  items: ShownItem[];
}

export interface SampleCollection {
  datasets: ShownDataset[];
  /** Longest text shown uncut. Unit: characters. */
  textLimit: number;
  /** Lines of the sample files that could not be read, and other gaps: one sentence each. */
  problems: string[];
}

/** Text limits that are tried, from the most to the least; then items are left out. */
const TEXT_LIMITS = [20_000, 6_000, 2_000, 700, 250];

/** What is kept of each item in the first pass. */
interface ItemSize {
  key: string;
  /** JSON bytes at each of TEXT_LIMITS, over all models. */
  sizes: number[];
  won: number;
  results: number;
  failed: boolean;
}

/**
 * Collects the samples that go into the page, at most `budget` bytes of JSON: first texts are cut, then items are left
 * out, those on which the models agree first. Two passes over the files, so that memory does not grow with them.
 */
export async function collectSamples(data: RunData, budget: number): Promise<SampleCollection> {
  const problems: string[] = [];
  const sizes = new Map<string, Map<string, ItemSize>>();
  for (const dataset of data.datasets) sizes.set(dataset, await measureDataset(data, dataset, problems));
  const { level, chosen } = choose(sizes, budget);
  const textLimit = TEXT_LIMITS[level] ?? 0;
  const datasets: ShownDataset[] = [];
  for (const dataset of data.datasets) {
    const keys = chosen.get(dataset);
    if (keys === undefined || keys.size === 0) continue;
    datasets.push(await showDataset(data, dataset, keys, textLimit, sizes.get(dataset)?.size ?? 0));
  }
  return { datasets, textLimit, problems };
}

function modelsOf(data: RunData, dataset: string): string[] {
  return data.models.filter((model) => findEvaluation(data, model, dataset)?.samplesPath !== undefined);
}

/** Reads one model's file; `key` tells repeated samples of one item apart. */
async function eachSample(
  data: RunData,
  model: string,
  dataset: string,
  take: (key: string, sample: EvaluationSample) => void
): Promise<number> {
  const path = findEvaluation(data, model, dataset)?.samplesPath;
  if (path === undefined) return 0;
  const seen = new Map<number, number>();
  return readSamples(path, (sample) => {
    const nth = seen.get(sample.index) ?? 0;
    seen.set(sample.index, nth + 1);
    take(`${sample.index}.${nth}`, sample);
  });
}

async function measureDataset(data: RunData, dataset: string, problems: string[]): Promise<Map<string, ItemSize>> {
  const items = new Map<string, ItemSize>();
  for (const model of modelsOf(data, dataset)) {
    const bad = await eachSample(data, model, dataset, (key, sample) => {
      const item = items.get(key) ?? { key, sizes: TEXT_LIMITS.map(() => 60), won: 0, results: 0, failed: false };
      item.results += 1;
      item.won += sample.judge_sub_em > 0 ? 1 : 0;
      item.failed ||= sample.error !== undefined;
      sizesOf(sample).forEach((size, level) => (item.sizes[level] = (item.sizes[level] ?? 0) + size));
      items.set(key, item);
    });
    if (bad > 0) problems.push(`eval/${model}/${dataset}.jsonl has ${bad} lines that are no sample.`);
  }
  return items;
}

/** Bytes of a result's JSON at each of TEXT_LIMITS, from above. */
function sizesOf(sample: EvaluationSample): number[] {
  const sizes = TEXT_LIMITS.map(() => 60);
  const add = (text: string): void => {
    let cost = NaN;
    TEXT_LIMITS.forEach((limit, level) => {
      // A text that fits one limit costs the same at every larger one.
      if (Number.isNaN(cost) || text.length > limit) cost = jsonBytes(clean(text, limit)) + 4;
      sizes[level] = (sizes[level] ?? 0) + cost;
    });
  };
  for (const text of [sample.pred, sample.response, sample.error ?? '', sample.question, ...sample.answers]) add(text);
  sample.memories.forEach((memory, turn) => add(memory === sample.memories[turn - 1] ? '' : memory));
  return sizes;
}

/** UTF-8 bytes of a text within JSON within a script element. */
function jsonBytes(text: string): number {
  let size = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x3c || code === 0x3e || code === 0x26) size += 6;
    else if (code < 0x20 || code === 0x22 || code === 0x5c) size += 2;
    else size += code < 0x80 ? 1 : 3;
  }
  return size;
}

function choose(
  sizes: ReadonlyMap<string, ReadonlyMap<string, ItemSize>>,
  budget: number
): { level: number; chosen: Map<string, Set<string>> } {
  const all = [...sizes].flatMap(([dataset, items]) => [...items.values()].map((item) => ({ dataset, item })));
  const total = (level: number): number => all.reduce((sum, { item }) => sum + (item.sizes[level] ?? 0), 0);
  const last = TEXT_LIMITS.length - 1;
  const fitting = TEXT_LIMITS.findIndex((_, level) => total(level) <= budget);
  const level = fitting < 0 ? last : fitting;
  const chosen = new Map<string, Set<string>>([...sizes.keys()].map((dataset) => [dataset, new Set<string>()]));
  let left = budget;
  for (const { dataset, item } of fitting < 0 ? byInterest(all) : all) {
    const size = item.sizes[level] ?? 0;
    if (size > left) continue;
    left -= size;
    chosen.get(dataset)?.add(item.key);
  }
  return { level, chosen };
}

/** Failed items, then those on which the models differ (in the files' order), round-robin over the data sets. */
function byInterest(all: { dataset: string; item: ItemSize }[]): { dataset: string; item: ItemSize }[] {
  const rank = ({ item }: { item: ItemSize }): number => {
    if (item.failed) return 0;
    return item.won > 0 && item.won < item.results ? 1 : 2;
  };
  const positions = new Map<string, number>();
  return [...all]
    .sort((a, b) => rank(a) - rank(b))
    .map((entry) => {
      const position = positions.get(entry.dataset) ?? 0;
      positions.set(entry.dataset, position + 1);
      return { entry, position };
    })
    .sort((a, b) => a.position - b.position)
    .map(({ entry }) => entry);
}

async function showDataset(
  data: RunData,
  dataset: string,
  keys: ReadonlySet<string>,
  limit: number,
  total: number
): Promise<ShownDataset> {
  const models = modelsOf(data, dataset);
  const items = new Map<string, ShownItem>();
  for (const [column, model] of models.entries()) {
    await eachSample(data, model, dataset, (key, sample) => {
      if (!keys.has(key)) return;
      const item = items.get(key) ?? newItem(sample, models.length, limit);
      item.x[column] = showResult(sample, limit);
      if (sample.context_truncated) item.t = 1;
      items.set(key, item);
    });
  }
  const sorted = [...items.values()].sort((a, b) => a.i - b.i);
  return { name: dataset, label: datasetLabel(data, dataset), models, total, items: sorted };
}

function newItem(sample: EvaluationSample, models: number, limit: number): ShownItem {
  return {
    i: sample.index,
    q: clean(sample.question, limit),
    a: sample.answers.slice(0, 50).map((answer) => clean(answer, limit)),
    n: sample.num_chunks,
    c: sample.context_tokens,
    t: 0,
    x: new Array<null>(models).fill(null),
  };
}

function showResult(sample: EvaluationSample, limit: number): ShownResult {
  return {
    p: clean(sample.pred, limit),
    s: sample.judge_sub_em > 0 ? 1 : 0,
    b: sample.judge_boxed_em > 0 ? 1 : 0,
    f: Number(sample.judge_f1.toFixed(3)),
    r: clean(sample.response, limit),
    m: sample.memories.map((memory, turn) => (memory === sample.memories[turn - 1] ? 0 : clean(memory, limit))),
    ...(sample.error === undefined ? {} : { e: clean(sample.error, limit) }),
  };
}

function clean(text: string, limit: number): string {
  return printable(clip(text, limit));
}
