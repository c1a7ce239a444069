import { truncationSentence } from '../../shared/evaluation/disclosure.js';
import type { EvaluationOutcome, StoredSummary } from '../../shared/evaluation/types.js';
import { wilsonPercent } from '../../shared/report/format.js';
import { cleanLine } from '../terminal/clean-text.js';
import { duration, plural } from '../terminal/units.js';

/** Scores, conditions and files of an evaluation, for people. */
export function resultText(outcome: EvaluationOutcome): string {
  const { summary } = outcome;
  const rows: [string, string][] = [
    ['data', `${cleanLine(summary.data_file)}  SHA-256 ${summary.data_sha256.slice(0, 16)}…`],
    ['model', cleanLine(summary.model)],
    ['reading', readingWords(summary)],
    ['sub-EM', `${percent(summary.sub_em_pct)}${intervalWords(summary)}`],
    ['boxed EM', percent(summary.boxed_em_pct)],
    ['F1', percent(summary.f1_pct)],
    ['EM', percent(summary.em_pct)],
    ...(summary.pass_at_n_pct === undefined
      ? []
      : [[`pass@${summary.sampling_count}`, percent(summary.pass_at_n_pct)] as [string, string]]),
    ['samples', samplesWords(outcome)],
    ['server', serverWords(outcome)],
    ['sampling', samplingWords(summary)],
    ['files', `${outcome.samplesPath}, ${outcome.summaryPath}`],
  ];
  const sentence = truncationSentence(summary);
  return [
    ...rows.map(([name, text]) => `${name.padEnd(9)} ${text}`),
    ...(sentence === undefined ? [] : ['', sentence]),
  ].join('\n');
}

function percent(value: number): string {
  return `${value.toFixed(1).padStart(5)} %`;
}

function intervalWords({ sub_em: share, total, sampling_count: samples }: StoredSummary): string {
  // Samples of one item are not independent: an interval over them would be too narrow.
  const interval = samples === 1 ? wilsonPercent(share, total) : undefined;
  return interval === undefined ? '' : `  (95 % interval ${interval.low.toFixed(1)} – ${interval.high.toFixed(1)})`;
}

function readingWords(summary: StoredSummary): string {
  if (summary.mode === 'base')
    return `at once, prompts of at most ${summary.max_input_tokens} tokens, ${summary.context_cut ?? 'end'} left out`;
  const { max_chunks: chunks, chunk_tokens: tokens, max_memory_tokens: memory, max_final_tokens: final } = summary;
  return `at most ${chunks} chunks of ${tokens} tokens, memory ${memory}, answer ${final} (rules of ${summary.flavour})`;
}

function samplesWords({ summary, resumed, reused, seconds }: EvaluationOutcome): string {
  const several = summary.sampling_count === 1 ? '' : ` (${summary.items} items × ${summary.sampling_count})`;
  const kept = reused ? ', all of an earlier call' : resumed > 0 ? `, ${resumed} of an earlier call` : '';
  return `${summary.total}${several}, ${plural(summary.errors, 'error')}${kept}; ${duration(seconds)}`;
}

function serverWords({ server, summary }: EvaluationOutcome): string {
  return [
    `${server.protocol}${server.engineVersion === null ? '' : ` ${cleanLine(server.engineVersion, 60)}`} at ${server.endpoint}`,
    `model ${server.modelPath === null ? 'not told' : cleanLine(server.modelPath)}`,
    `context ${server.contextLength ?? `not told (${summary.server_max_model_len} assumed)`}`,
    ...(server.weightsVersion === null ? [] : [`weights version ${cleanLine(server.weightsVersion, 60)}`]),
  ].join(', ');
}

function samplingWords({ temperature, top_p: topP, seed, server, enable_thinking: thinking }: StoredSummary): string {
  const unseeded = server.seeding === 'none' ? 'the server takes no seed' : 'no seed was sent';
  const seeding = seed === null ? `${unseeded}: another run draws other samples` : `seed ${seed}`;
  const think = thinking === null ? '' : `, thinking ${thinking ? 'on' : 'off'}`;
  const defaults = Object.entries(server.sampling_defaults ?? {})
    .filter(([name]) => ['top_k', 'min_p', 'repeat_penalty', 'repetition_penalty'].includes(name))
    .map(([name, value]) => `${name} ${String(value)}`);
  const own = defaults.length === 0 ? '' : `; the server’s own: ${cleanLine(defaults.join(', '))}`;
  return `temperature ${temperature}, top-p ${topP}${think}, ${seeding}${own}`;
}
