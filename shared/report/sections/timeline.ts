import type { AttemptRecord, Progress, StageProgress, StageState } from '../../contracts/progress.js';
import { dateTime, duration, percent, plural, secondsBetween, timeOfDay } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { RunData } from '../run-data.js';
import { jobsBlock } from './jobs.js';
import { absent, mark, section, table, type Mark } from './parts.js';

const STATE_MARKS: Readonly<Record<StageState, Mark>> = {
  pending: 'none',
  running: 'none',
  done: 'good',
  reused: 'good',
  failed: 'bad',
  halted: 'warn',
  cancelled: 'warn',
};

/** When each stage ran, how often it was repeated and why, and how much time that cost. */
export function timelineSection(data: RunData): Html {
  const { progress } = data;
  if (progress === undefined) {
    return section('timeline', 'Timeline', '', absent('timeline.json is not there: when the stages ran is not known.'));
  }
  const end = progress.finishedAt ?? progress.updatedAt;
  const total = secondsBetween(progress.startedAt, end);
  const lead = html`Started ${dateTime(progress.startedAt)}, ${duration(total)} until this report. Bars show when each
  stage ran; stages that do not wait for each other ran side by side.`;
  return section('timeline', 'Timeline', lead, [
    table(
      'Stages',
      [
        { label: 'Stage' },
        { label: 'When' },
        { label: 'Time', number: true },
        { label: 'Repeats', number: true },
        { label: 'Lost', number: true },
        { label: 'State' },
      ],
      progress.stages.map((stage) => stageRow(progress, stage, end)),
      'stages'
    ),
    lossSentence(progress),
    attemptsTable(progress),
    jobsBlock(data),
  ]);
}

function stageRow(progress: Progress, stage: StageProgress, end: string): Value[] {
  // The stage that writes this page is the only one that can be under way in it while the run does not wait.
  const isThisPage = stage.name === 'report' && stage.state === 'running';
  return [
    html`${stage.name} <span class="muted">${stage.queue}</span>`,
    stageBar(progress, stage, end),
    isThisPage
      ? '–'
      : duration(
          secondsBetween(stage.startedAt, stage.finishedAt ?? (stage.startedAt === undefined ? undefined : end))
        ),
    stage.retries === 0 ? '0' : html`<b>${stage.retries}</b>`,
    stage.secondsLost === undefined ? '–' : duration(stage.secondsLost),
    html`${isThisPage ? mark('good', 'this page') : mark(STATE_MARKS[stage.state], stage.state)}${
      stage.note !== undefined && html` <span class="muted note">${stage.note}</span>`
    }`,
  ];
}

/** A bar within the run's whole time, in tenths of a percent. */
function stageBar(progress: Progress, stage: StageProgress, end: string): Html {
  const total = secondsBetween(progress.startedAt, end) ?? 0;
  const from = secondsBetween(progress.startedAt, stage.startedAt);
  const to = secondsBetween(progress.startedAt, stage.finishedAt ?? end);
  if (from === undefined || to === undefined || total <= 0) return html`<span class="muted">did not run</span>`;
  const x = (Math.min(from, total) / total) * 1000;
  const width = Math.max(4, (Math.min(to, total) / total) * 1000 - x);
  const label = `from ${timeOfDay(stage.startedAt)} to ${timeOfDay(stage.finishedAt ?? end)}`;
  return html`<svg
    class="bar ${stage.state}"
    viewBox="0 0 1000 10"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    <rect class="track" x="0" y="4" width="1000" height="2"></rect>
    <rect class="run" x="${Math.min(x, 996).toFixed(1)}" y="0" width="${width.toFixed(1)}" height="10"></rect>
  </svg>`;
}

function lossSentence(progress: Progress): Html {
  const listed = progress.attempts.reduce((sum, attempt) => sum + (attempt.secondsLost ?? 0), 0);
  // The stages' sums hold the attempts that are no longer listed too.
  const lost = Math.max(
    listed,
    progress.stages.reduce((sum, stage) => sum + (stage.secondsLost ?? 0), 0)
  );
  const spent = progress.stages.reduce(
    (sum, stage) => sum + (secondsBetween(stage.startedAt, stage.finishedAt) ?? 0),
    0
  );
  if (progress.failedAttempts === 0) return html`<p>No activity had to be repeated; no time was lost.</p>`;
  const share = spent > 0 ? ` (${percent((100 * lost) / spent)} of ${duration(spent)} stage time)` : '';
  return html`<p>
    ${plural(progress.failedAttempts, 'attempt')} failed and ${progress.failedAttempts === 1 ? 'was' : 'were'} followed
    by another or by a halt; known time lost: ${duration(lost)}${share}.
  </p>`;
}

function attemptsTable(progress: Progress): Html | undefined {
  if (progress.attempts.length === 0) return undefined;
  const more = progress.failedAttempts - progress.attempts.length;
  return html`<h3>Failed attempts</h3>
    ${table(
      'Failed attempts and their causes',
      [
        { label: 'Time' },
        { label: 'Stage' },
        { label: 'Activity' },
        { label: 'Step', number: true },
        { label: 'Phase' },
        { label: 'Host' },
        { label: 'Cause' },
        { label: 'Lost', number: true },
      ],
      progress.attempts.map(attemptRow)
    )}
    ${more > 0 && html`<p class="muted">${plural(more, 'earlier attempt')} not listed.</p>`}`;
}

function attemptRow(attempt: AttemptRecord): Value[] {
  return [
    timeOfDay(attempt.at),
    html`<span class="nowrap">${attempt.stage}</span>`,
    html`<span class="nowrap">${attempt.activity}</span>`,
    attempt.step === undefined ? '–' : String(attempt.step),
    attempt.phase ?? '–',
    attempt.host ?? '–',
    html`<b>${attempt.type}</b> <span class="note">${attempt.message.slice(0, 600)}</span>`,
    duration(attempt.secondsLost),
  ];
}
