import { MISBEHAVIOURS, type Misbehaviour } from './cases.js';
import { HEARTBEAT_SECONDS, STALL_MINUTES, type Observed } from './observe.js';

/** What was seen of some misbehaviours. */
export type Seen = ReadonlyMap<Misbehaviour, Observed>;

/**
 * docs/misbehaviours.md.
 *
 * @param before its text until now: rows of misbehaviours that were not run again are kept
 */
export function misbehavioursDocument(seen: Seen, before: string): string {
  return [
    '# What a misbehaving training job ends in',
    'Made by `make misbehaviours`, which runs `test/e2e/ray-misbehaviours.test.ts`. Every row is a whole pipeline on a real Temporal',
    'server and a real Ray head, with real workers; its training jobs are small programs that print and save as the framework does',
    '(`test/fixtures/frameworks`), until they do what the first column names: `name@step`, `-once` in the first job that gets',
    'there. The class is the failure table’s, and so is what follows: a failed job is followed by one that goes on from the newest',
    'complete checkpoint, or the run halts and waits for `memagent decide`.',
    '',
    `Limits: heartbeat time-out ${HEARTBEAT_SECONDS} s; longest step ${STALL_MINUTES * 60} s (\`cluster.stepMinutes\`, 60 minutes by default); Ray’s status`,
    'every 2 s, the log as a stream. Detection is the time from what the program noted of itself to the failed attempt in the',
    'run’s progress; a job that must not go on has been stopped by then, which takes Ray some seconds. One run each, two or three',
    'at the same time on two CPU cores.',
    '',
    line(['misbehaviour', 'framework', 'what happens', 'class', 'the pipeline', 'detection (s)', 'what the user sees']),
    line(['---', '---', '---', '---', '---', '--:', '---']),
    ...MISBEHAVIOURS.flatMap((misbehaviour) => {
      const observed = seen.get(misbehaviour);
      return observed === undefined ? rowOf(misbehaviour, before) : [line(cellsOf(misbehaviour, observed))];
    }),
    '',
  ].join('\n');
}

/** The document's row of a misbehaviour, if it has one. */
export function rowOf({ imitate, flavour }: Misbehaviour, document: string): string[] {
  const start = `| \`${imitate}\` | ${flavour} |`;
  return document.split('\n').filter((text) => text.startsWith(start));
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
