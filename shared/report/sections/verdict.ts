import { FAILURES, isFailureType } from '../../contracts/failures.js';
import type { Progress, VerdictOutcome } from '../../contracts/progress.js';
import type { BaselineRow, PairRow, Verdict } from '../../scoring/verdict-types.js';
import { fixed, percent } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import { datasetLabel, type RunData } from '../run-data.js';
import { truncationNotices } from './truncation.js';
import { notice, type Mark } from './parts.js';

const OUTCOMES: Readonly<Record<VerdictOutcome, { chip: string; sign: string }>> = {
  passed: { chip: 'Passed', sign: '✓' },
  'not-passed': { chip: 'Not passed', sign: '✕' },
  'not-comparable': { chip: 'Not comparable', sign: '≠' },
};

/** The answer first: outcome, sentence, every check of the rule, and what must be read with it. */
export function verdictSection(data: RunData): Html {
  return data.verdict === undefined ? unfinished(data) : verdictCard(data, data.verdict);
}

function verdictCard(data: RunData, verdict: Verdict): Html {
  const outcome = OUTCOMES[verdict.outcome] ?? { chip: verdict.outcome, sign: '?' };
  const pairs = verdict.pairs.map((row) => check(row.passed ? 'good' : 'bad', pairWords(data, row)));
  const baselines = verdict.baselines
    .filter(({ required }) => required)
    .map((row) => check(row.passed ? 'good' : 'bad', baselineWords(data, row)));
  const tolerance = fixed(verdict.rule.tolerance_points, Number.isInteger(verdict.rule.tolerance_points) ? 0 : 1);
  return card(verdict.outcome, outcome, verdict.sentence, [
    checkList(
      'Why there is no verdict',
      verdict.reasons.map((reason) => check('bad', reason))
    ),
    html`<div class="rules">
      ${checkList(`Arms at most ${tolerance} points apart`, pairs)}
      ${checkList('Strictly above the frozen base', baselines)}
    </div>`,
    truncationNotices(data),
    notesBlock(verdict.notes),
  ]);
}

function checkList(heading: string, checks: readonly Html[]): Html | undefined {
  if (checks.length === 0) return undefined;
  return html`<div>
    <h3 class="rule">${heading}</h3>
    <ul class="checks">
      ${checks}
    </ul>
  </div>`;
}

function notesBlock(notes: readonly string[]): Html | undefined {
  if (notes.length === 0) return undefined;
  return html`<div class="beside">
    <h3 class="rule">To be read with it</h3>
    <ul>
      ${notes.map((note) => html`<li>${note}</li>`)}
    </ul>
  </div>`;
}

function card(tone: string, outcome: { chip: string; sign: string }, sentence: Value, content: Value): Html {
  return html`<div class="verdict ${tone}" id="verdict" role="region" aria-labelledby="verdict-chip">
    <h2 class="chip" id="verdict-chip"><span aria-hidden="true">${outcome.sign}</span> ${outcome.chip}</h2>
    <p class="sentence">${sentence}</p>
    ${content}
  </div>`;
}

function check(kind: Mark, words: Value): Html {
  const sign = kind === 'good' ? '✓' : '✕';
  const spoken = kind === 'good' ? 'holds: ' : 'does not hold: ';
  return html`<li class="${kind}">
    <span class="sign" aria-hidden="true">${sign}</span>
    <span><span class="visually-hidden">${spoken}</span>${words}</span>
  </li>`;
}

/** The metric's name as people write it. */
export function metricName(metric: string): string {
  const names: Readonly<Record<string, string>> = { sub_em: 'sub_EM', boxed_em: 'boxed EM', em: 'EM', f1: 'F1' };
  return names[metric] ?? metric;
}

function pairWords(data: RunData, row: PairRow): Html {
  return html`<b>${datasetLabel(data, row.dataset)}</b>: ${points(row.gap_points, row.tolerance_points)} apart
    <span class="muted">${scorePair(row.metric, row.first, row.first_pct, row.second, row.second_pct)}</span>`;
}

function baselineWords(data: RunData, row: BaselineRow): Html {
  const gain = row.improvement_points;
  const relation = gain > 0 ? `${points(gain, 0)} above` : gain < 0 ? `${points(-gain, 0)} below` : 'not above';
  return html`<b>${datasetLabel(data, row.dataset)}</b>: ${row.arm} ${relation}
    <span class="muted">${scorePair(row.metric, row.arm, row.trained_pct, 'base', row.base_pct)}</span>`;
}

function scorePair(metric: string, first: string, firstPct: number, second: string, secondPct: number): string {
  return `${metricName(metric)} ${first} ${percent(firstPct)}, ${second} ${percent(secondPct)}`;
}

/** Points with one decimal; two where one would make the value look equal to a limit that it is not equal to. */
function points(value: number, limit: number): string {
  const digits = value !== limit && fixed(value, 1) === fixed(limit, 1) ? 2 : 1;
  return `${fixed(value, digits)}\u00a0points`;
}

/** A run without a verdict says where and why it ended, and what can be done. */
function unfinished(data: RunData): Html {
  const { progress } = data;
  const outcome = { chip: 'No verdict', sign: '…' };
  if (progress === undefined) {
    return card(
      'incomplete',
      outcome,
      'This run has no verdict, and its time-line is missing: it did not come to its end.',
      ''
    );
  }
  const ended = progress.stages.find(({ state }) => ['failed', 'halted', 'cancelled', 'running'].includes(state));
  const cause = progress.halt ?? lastAttempt(progress, ended?.name);
  const sentence = html`This run has no
  verdict${ended === undefined ? '' : html`: it ${endedWords(progress.state)} in stage <b>${ended.name}</b>`}.`;
  if (cause === undefined) return card('incomplete', outcome, sentence, '');
  const cure = progress.halt?.cure ?? (isFailureType(cause.type) ? FAILURES[cause.type].cure : undefined);
  return card('incomplete', outcome, sentence, [
    html`<ul class="checks">
      ${check('bad', html`<b>${cause.type}:</b> ${cause.message.slice(0, 1200)}`)}
    </ul>`,
    cure !== undefined && notice(cure),
  ]);
}

function endedWords(state: Progress['state']): string {
  return {
    running: 'is',
    paused: 'is paused',
    halted: 'halted',
    failed: 'failed',
    cancelled: 'was cancelled',
    completed: 'ended',
  }[state];
}

function lastAttempt(progress: Progress, stage: string | undefined): { type: string; message: string } | undefined {
  if (progress.state === 'completed' || progress.state === 'running') return undefined;
  return progress.attempts.filter((attempt) => stage === undefined || attempt.stage === stage).at(-1);
}
