import type { TurnRate, WideFacts } from './types.js';

/** The facts as Markdown. */
export function wideText({ samples, chunks, concurrency, processes, ours, reference, ...facts }: WideFacts): string {
  const rate = ({ turns, seconds, cpuSeconds }: TurnRate): string =>
    `${(turns / seconds).toFixed(0)} turns/s, ${(turns / cpuSeconds).toFixed(0)} turns a CPU second`;
  const ratio =
    reference === undefined
      ? []
      : [
          `| yardstick’s client | ${rate(reference)} |`,
          `| ratio | ${(ours.turns / ours.seconds / (reference.turns / reference.seconds)).toFixed(2)} × by wall time, ` +
            `${(ours.turns / ours.cpuSeconds / (reference.turns / reference.cpuSeconds)).toFixed(2)} × by CPU time |`,
        ];
  return [
    `${samples} samples × ${chunks} chunks, concurrency ${concurrency}: ${facts.problems.length === 0 ? 'all holds' : 'NOT all holds'}`,
    '',
    '| | |',
    '| --- | --- |',
    ...processes.map(
      (line, at) =>
        `| process ${at + 1} (${line.end === undefined ? `killed, ${facts.kept} samples kept` : `${line.end.resumed} taken over, ${line.end.errors} errors`}) | ` +
        `${(line.rssPeakBytes / 1e6).toFixed(0)} MB at most; event loop p50 ${line.delayP50Ms.toFixed(1)}, ` +
        `p99 ${line.delayP99Ms.toFixed(1)}, longest ${line.delayMaxMs.toFixed(0)} ms; ${line.seconds.toFixed(0)} s |`
    ),
    `| samples/s | ${(samples / ours.seconds).toFixed(2)} |`,
    `| evaluator | ${rate(ours)} |`,
    ...ratio,
    `| requests made again after the kill | ${facts.requestsAgain} |`,
    ...facts.problems.map((problem) => `| **problem** | ${problem} |`),
  ].join('\n');
}
