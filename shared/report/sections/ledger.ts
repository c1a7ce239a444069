import { count, significant } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { ArmData, LedgerCount, RunData } from '../run-data.js';
import { absent, mark, notice, section, table } from './parts.js';
import { armName } from './training.js';

/** The smoke gate's turn ledger of each arm, and the same count over the full run. */
export function ledgerSection(data: RunData): Html {
  const rows = data.arms.flatMap((arm) => gateRows(data, arm));
  const missing = data.arms.filter(({ gate }) => gate === undefined).map(({ name }) => name);
  const unprinted = data.arms
    .filter(({ gate }) => gate?.steps.some(({ equal }) => equal === 'not verifiable') === true)
    .map(({ name }) => name);
  const lead =
    'Every generated turn must become one training row, and every row must be consumed. The smoke gate checks it on real steps before the full run starts; the full run checks it at every step.';
  return section('ledger', 'Turn ledger', lead, [
    rows.length > 0 &&
      table(
        'Counts of each step',
        [
          { label: 'Arm and step' },
          { label: 'Generated', number: true },
          { label: 'Transferred', number: true },
          { label: 'Trimmed', number: true },
          { label: 'Consumed', number: true },
          { label: 'Loss', number: true },
          { label: 'Gradient norm', number: true },
          { label: 'Ledger' },
        ],
        rows
      ),
    unprinted.length > 0 &&
      notice(
        html`${unprinted.join(', ')}: the framework’s log does not print every count. Those that it prints were
        compared, in the smoke gate and at every step of the full run.`
      ),
    missing.length > 0 && absent(html`No smoke gate evidence for ${missing.join(', ')}.`),
  ]);
}

function gateRows(data: RunData, arm: ArmData): Value[][] {
  const smoke = (arm.gate?.steps ?? []).map((step): Value[] => [
    html`${armName(data, arm.name)} <span class="muted">smoke step ${step.step}</span>`,
    ledgerCount(step.generated_turns),
    ledgerCount(step.transferred_rows),
    ledgerCount(step.trimmed_rows ?? 0),
    ledgerCount(step.consumed_rows),
    significant(step.loss),
    significant(step.grad_norm),
    equality(step.equal),
  ]);
  const total = fullRun(arm);
  return total === undefined ? smoke : [...smoke, fullRunRow(data, arm, total)];
}

/** Without words for it, a count that nobody printed would look like one that agreed. */
function ledgerCount(value: LedgerCount): Value {
  return typeof value === 'number' ? count(value) : value;
}

function equality(equal: boolean | 'not verifiable'): Value {
  if (typeof equal === 'string') return mark('warn', 'not verifiable in full');
  return equal ? mark('good', 'equal') : mark('bad', 'not equal');
}

interface Totals {
  steps: number;
  generated: number;
  transferred: number;
  trimmed: number;
  consumed: number;
  equalSteps: number;
}

/** Sums over the steps of metrics.csv; undefined when it has no ledger columns. */
export function fullRun(arm: ArmData): Totals | undefined {
  const generated = column(arm, 'generated_turns', 'generated');
  const transferred = column(arm, 'transferred_rows', 'transferred');
  const consumed = column(arm, 'consumed_rows', 'consumed');
  if (generated === undefined || transferred === undefined || consumed === undefined) return undefined;
  const trimmed = column(arm, 'trimmed_rows', 'trimmed') ?? generated.map(() => 0);
  const equal = generated.filter(
    (turns, row) => turns === (transferred[row] ?? NaN) + (trimmed[row] ?? NaN) && transferred[row] === consumed[row]
  );
  return {
    steps: generated.length,
    generated: sum(generated),
    transferred: sum(transferred),
    trimmed: sum(trimmed),
    consumed: sum(consumed),
    equalSteps: equal.length,
  };
}

function column(arm: ArmData, ...names: string[]): readonly number[] | undefined {
  return names.map((name) => arm.metrics.get(name)).find((values) => values !== undefined && values.length > 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function fullRunRow(data: RunData, arm: ArmData, total: Totals): Value[] {
  const words = `${count(total.equalSteps)} of ${count(total.steps)} steps equal`;
  return [
    html`${armName(data, arm.name)} <span class="muted">full run, ${count(total.steps)} steps</span>`,
    count(total.generated),
    count(total.transferred),
    count(total.trimmed),
    count(total.consumed),
    '–',
    '–',
    mark(total.equalSteps === total.steps ? 'good' : 'bad', words),
  ];
}
