import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readByteLines } from '../../shared/artifacts/byte-lines.js';
import { readJsonLines } from '../../shared/artifacts/json-lines.js';
import type { StoredSample } from '../../shared/evaluation/types.js';
import { entryPath } from '../../shared/runtime/entry.js';
import { writeItems } from './data.js';
import type { ChildLine, ChildOptions, TurnRate, WideFacts } from './types.js';

export interface WideOptions {
  /** Empty folder for data and results. */
  folder: string;
  /** Of the server without latency. */
  endpoint: string;
  tokenizer: string;
  samples: number;
  chunks: number;
  chunkTokens: number;
  responseTokens: number;
  concurrency: number;
  say: (text: string) => void;
  /** Measures the yardstick's client on the same server. */
  reference?: () => Promise<TurnRate>;
}

const MOST_RSS = 600e6;
const MOST_DELAY_MS = 50;
const KILL_AT = 0.5;

/** Evaluates every sample against a server without latency, killed in the middle and resumed, and checks what must hold. */
export async function wideEvaluation(options: WideOptions): Promise<WideFacts> {
  const { folder, samples, chunks, concurrency, say } = options;
  const child = childOptions(options);
  say(`writing ${samples} contexts of ${chunks} chunks`);
  await writeItems(child.dataPath, samples, chunks * options.chunkTokens);
  const before = await requestsOf(options.endpoint);
  const killed = await evaluate(child, say, Math.floor(samples * KILL_AT));
  const kept = await linesOf(`${child.samplesPath}.working`);
  say(`killed with ${kept} samples on disk; going on`);
  const resumed = await evaluate(child, say);
  const requests = (await requestsOf(options.endpoint)) - before;
  const turns = samples * (chunks + 1);
  const processes = [killed, resumed];
  const ours: TurnRate = {
    turns: requests,
    seconds: processes.reduce((sum, { seconds }) => sum + seconds, 0),
    cpuSeconds: processes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
  say('the yardstick’s client on the same server');
  const problems: string[] = [];
  // What was measured before must not be lost with it.
  const reference = await options.reference?.().catch((error: Error) => void problems.push(error.message));
  const facts = {
    ...{ samples, chunks, concurrency, processes, kept, ours },
    requestsAgain: requests - turns,
    reference: reference ?? undefined,
  };
  problems.push(...problemsOf(facts), ...(await sampleProblems(join(folder, 'out.jsonl'), options)));
  return { ...facts, problems };
}

function childOptions(options: WideOptions): ChildOptions {
  const { folder, endpoint, tokenizer, chunks, chunkTokens, responseTokens, concurrency } = options;
  return {
    endpoint,
    tokenizer,
    dataPath: join(folder, 'wide.jsonl'),
    samplesPath: join(folder, 'out.jsonl'),
    summaryPath: join(folder, 'out.summary.json'),
    limits: { chunkTokens, memoryTokens: responseTokens, finalTokens: responseTokens, maxChunks: chunks },
    concurrency,
    markAt: null,
  };
}

/** @param killAt samples after which the process is killed; default: it comes to its end */
async function evaluate(options: ChildOptions, say: (text: string) => void, killAt = Infinity): Promise<ChildLine> {
  const marked: ChildOptions = { ...options, markAt: killAt === Infinity ? null : killAt };
  const child = spawn(process.execPath, [entryPath('scripts/wide/evaluate.js'), JSON.stringify(marked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let last: ChildLine | undefined;
  for await (const text of createInterface({ input: child.stdout })) {
    last = JSON.parse(text) as ChildLine;
    say(`  ${last.done} samples, ${(last.rssPeakBytes / 1e6).toFixed(0)} MB, p99 ${last.delayP99Ms.toFixed(1)} ms`);
    if (last.done >= killAt) child.kill('SIGKILL');
  }
  const [code] = (await exited) as [number | null];
  if (last === undefined || (code !== 0 && killAt === Infinity))
    throw new Error(`the evaluation ended with ${code ?? 'a signal'}`);
  if (code === 0 && killAt !== Infinity)
    throw new Error('the evaluation ended before it was killed: take more samples');
  return last;
}

async function requestsOf(endpoint: string): Promise<number> {
  const reply = await fetch(endpoint);
  return ((await reply.json()) as { requests: number }).requests;
}

/** Finished samples in a working file: its whole lines without the first. */
async function linesOf(path: string): Promise<number> {
  let lines = -1;
  await readByteLines(path, ({ isWhole }) => void (lines += isWhole ? 1 : 0));
  return Math.max(0, lines);
}

function problemsOf(facts: Omit<WideFacts, 'problems'>): string[] {
  const { processes, kept, requestsAgain, concurrency, chunks } = facts;
  const end = processes[1]?.end;
  const problems = processes.flatMap(({ rssPeakBytes, delayP99Ms }, at) => [
    rssPeakBytes > MOST_RSS && `process ${at + 1} took ${(rssPeakBytes / 1e6).toFixed(0)} MB, at most 600 are allowed`,
    delayP99Ms > MOST_DELAY_MS && `the event loop of process ${at + 1} was late by ${delayP99Ms.toFixed(1)} ms at p99`,
  ]);
  const most = concurrency * (chunks + 1);
  return [
    ...problems,
    end?.resumed !== kept && `${String(end?.resumed)} samples were taken over, ${kept} were on disk`,
    end?.errors !== 0 && `${String(end?.errors)} samples have errors`,
    requestsAgain > most && `${requestsAgain} requests were made again, at most ${most} can have been in flight`,
    requestsAgain < 0 && `${-requestsAgain} turns were never asked for`,
  ].filter((problem) => problem !== false);
}

/** Every sample once, in order, with every chunk read. */
async function sampleProblems(path: string, { samples, chunks }: WideOptions): Promise<string[]> {
  const problems: string[] = [];
  let at = 0;
  await readJsonLines(path, (value) => {
    const { index, num_chunks: read } = value as StoredSample;
    if (index !== at) problems.push(`line ${at + 1} of the samples is sample ${index}`);
    if (read !== chunks) problems.push(`sample ${index} read ${read} chunks, expected ${chunks}`);
    at += 1;
  });
  if (at !== samples) problems.push(`${at} samples are in the file, expected ${samples}`);
  return problems.slice(0, 10);
}
