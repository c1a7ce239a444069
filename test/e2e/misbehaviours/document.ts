import type { Misbehaviour } from './cases.js';
import { HEARTBEAT_SECONDS, STALL_MINUTES, type Observed } from './observe.js';

const MADE_BY = 'UPDATE_DOCS=1 MEMAGENT_ALL_MISBEHAVIOURS=1 npx vitest run test/e2e/ray-misbehaviours.test.ts';

/** docs/misbehaviours.md. */
export function misbehavioursDocument(rows: readonly (readonly [Misbehaviour, Observed])[]): string {
  return [
    '# What a misbehaving training job ends in',
    `Made by \`make misbehaviours\` (\`${MADE_BY}\`).`,
    'Every row is a whole pipeline on a real Temporal server and a real Ray head, with real workers; its training job is a small',
    'program that prints and saves as the framework does (`test/fixtures/frameworks`) and then does what the first column names.',
    'The misbehaviour’s class is one of the failure table; what follows is what that table says: a job that is repeated goes on',
    'from the newest complete checkpoint, a run that is halted waits for `memagent decide`.',
    '',
    `Limits: heartbeat time-out ${HEARTBEAT_SECONDS} s, longest step ${STALL_MINUTES * 60} s (\`cluster.stepMinutes\`; 60 minutes by default), Ray’s`,
    'status every 2 s, the log as a stream. Detection is the time from what the program noted of itself to the failed attempt in',
    'the run’s progress, in seconds; a job that must not go on has been stopped by then. One run each, on two CPU cores.',
    '',
    line(['misbehaviour', 'framework', 'what happens', 'class', 'the pipeline', 'detection (s)', 'what the user sees']),
    line(['---', '---', '---', '---', '---', '--:', '---']),
    ...rows.map(([misbehaviour, observed]) => misbehaviourRow(misbehaviour, observed)),
    '',
  ].join('\n');
}

function misbehaviourRow(misbehaviour: Misbehaviour, observed: Observed): string {
  return line(cellsOf(misbehaviour, observed));
}

/** What a row of the document must be like, whatever the time was. */
export function rowPattern(misbehaviour: Misbehaviour, observed: Observed): RegExp {
  const cells = cellsOf(misbehaviour, observed).map((cell) => cell.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (observed.seconds !== undefined) cells[5] = '\\d+\\.\\d';
  return new RegExp(`^\\| ${cells.join(' \\| ')} \\|$`, 'm');
}

function cellsOf({ imitate, flavour, what }: Misbehaviour, observed: Observed): string[] {
  const { types, seconds, says } = observed;
  return [
    `\`${imitate}\``,
    flavour,
    what,
    types.join(', then '),
    outcome(observed),
    seconds === undefined ? '–' : seconds.toFixed(1),
    says,
  ].map((text) => text.replaceAll('|', '\\|'));
}

function outcome({ state, resumedAt }: Observed): string {
  const again = resumedAt.map((step) => (step === 0 ? 'begins again' : `goes on at step ${step}`)).join(', ');
  const end = { completed: 'verdict', halted: 'halts, asks for a decision', failed: 'fails' }[state] ?? state;
  return again === '' ? end : `${again}; ${end}`;
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
