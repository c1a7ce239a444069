import { html, type Html, type Value } from '../html.js';
import type { ArmData, JobRow, RunData } from '../run-data.js';
import { mark, table } from './parts.js';
import { armName } from './training.js';

/** The cluster's jobs that trained the arms, each going on from the one before; undefined where none did. */
export function jobsBlock(data: RunData): Html | undefined {
  const rows = data.arms.flatMap((arm) => (arm.jobs ?? []).map((job) => jobRow(data, arm, job)));
  if (rows.length === 0) return undefined;
  return html`<h3>Jobs of the cluster</h3>
    ${table(
      'Jobs of the cluster',
      [{ label: 'Arm and phase' }, { label: 'Job' }, { label: 'First step', number: true }, { label: 'End' }],
      rows
    )}`;
}

function jobRow(data: RunData, { name }: ArmData, { phase, submissionId, firstStep, end }: JobRow): Value[] {
  return [
    html`${armName(data, name)} <span class="muted">${phase}</span>`,
    html`<code>${submissionId}</code>`,
    String(firstStep),
    end === undefined ? '–' : html`${mark(end.status === 'SUCCEEDED' ? 'good' : 'warn', end.status.toLowerCase())}`,
  ];
}
