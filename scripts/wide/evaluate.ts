/**
 * One evaluation as a process of its own, so that it can be killed and measured: prints a JSON line now and then with samples
 * done, peak memory and event-loop delay, and one at the end.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { evaluateDataset } from '../../shared/evaluation/evaluator.js';
import { createInferenceClient } from '../../shared/inference/client.js';
import { keepHeapLean } from '../../shared/runtime/lean-heap.js';
import { loadTokenizer } from '../../shared/tokenizer/tokenizer.js';
import type { ChildLine, ChildOptions } from './types.js';

const LINE_EVERY_MS = 500;
const NANOSECONDS = 1e6;

keepHeapLean();
const options = JSON.parse(process.argv[2] ?? '{}') as ChildOptions;
const delay = monitorEventLoopDelay({ resolution: 10 });
const startedAt = performance.now();
let lastLine = -Infinity;

/** `getrusage` would tell the parent's peak, if that was higher: Linux hands it on to what is started. */
function rssPeak(): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return kilobytes === undefined ? process.resourceUsage().maxRSS * 1024 : Number(kilobytes) * 1024;
}

function line(done: number, end?: { resumed: number; errors: number }): ChildLine {
  const { user, system } = process.cpuUsage();
  return {
    done,
    seconds: (performance.now() - startedAt) / 1000,
    cpuSeconds: (user + system) / 1e6,
    rssPeakBytes: rssPeak(),
    delayP50Ms: delay.percentile(50) / NANOSECONDS,
    delayP99Ms: delay.percentile(99) / NANOSECONDS,
    delayMaxMs: delay.max / NANOSECONDS,
    ...(end === undefined ? {} : { end }),
  };
}

const client = createInferenceClient({
  protocol: 'sglang',
  endpoint: options.endpoint,
  concurrency: options.concurrency,
});
const tokenizer = await loadTokenizer(options.tokenizer);
delay.enable();
const outcome = await evaluateDataset({
  dataPath: options.dataPath,
  dataName: 'wide.jsonl',
  samplesPath: options.samplesPath,
  summaryPath: options.summaryPath,
  client,
  tokenizer,
  modelName: 'null',
  tokenizerName: 'yardstick',
  limits: options.limits,
  enableThinking: null,
  temperature: 1,
  topP: 1,
  concurrency: options.concurrency,
  modelVocabSize: 200_000,
  onProgress: ({ done }) => {
    if (performance.now() - lastLine < LINE_EVERY_MS && done !== options.markAt) return;
    lastLine = performance.now();
    console.log(JSON.stringify(line(done)));
  },
});
await client.close();
const { resumed, summary } = outcome;
console.log(JSON.stringify(line(summary.total, { resumed, errors: summary.errors })));
