import type { AccountedFault } from './ledger.js';
import type { ChaosResult } from './compare-runs.js';

/** What a chaos run showed, as text: faults, recoveries, time lost, take-over times, and everything that is wrong. */
export function chaosReport(result: ChaosResult, seed: number): string {
  const { calm, chaos, ledger, differing, compared, left } = result;
  const failed = chaos.progress.failedAttempts;
  return [
    ...ledger.faults.map(faultRow),
    '',
    ...takeOverTable(ledger.faults),
    '',
    `${chaos.faults.length} faults, ${failed} failed attempts, all repeated; ${(chaos.seconds - calm.seconds).toFixed(1)} s lost ` +
      `(calm ${calm.seconds.toFixed(1)} s, chaos ${chaos.seconds.toFixed(1)} s)`,
    `${compared - differing.length} of ${compared} artifacts have the same bytes`,
    ...result.impossible.map((text) => `not tried: ${text}`),
    ...problemsOf(result).map((problem) => `PROBLEM: ${problem}`),
    `repeat with: make chaos SEED=${seed}`,
    left.length === 0 ? 'no process, port, lease or unfinished file is left' : `${left.length} things are left`,
  ].join('\n');
}

/** Everything that makes a chaos run fail. */
export function problemsOf({ ledger, differing, left }: ChaosResult): string[] {
  return [...ledger.problems, ...differing.map((name) => `${name} differs`), ...left.map((what) => `left: ${what}`)];
}

function faultRow(fault: AccountedFault, index: number): string {
  const { takenOverSeconds: taken, progressSeconds: progress } = fault;
  const failed = fault.failed.length === 0 ? 'nothing failed' : `${fault.failed.length} failed`;
  const over = taken === undefined ? '' : `, taken over after ${taken.toFixed(1)} s`;
  const next = progress === undefined ? '' : `, next result after ${progress.toFixed(1)} s`;
  return `${String(index + 1).padStart(3)}  ${fault.what}: ${failed}${over}${next}`;
}

/** Times from a kill to the next attempt and to the next result, by what was killed. */
export function takeOverTable(faults: readonly AccountedFault[]): string[] {
  const rows = (['kill engine', 'kill worker', 'kill server'] as const).map((kind) => {
    const hits = faults.filter((fault) => fault.kind === kind && (kind === 'kill server' || fault.failed.length > 0));
    return [
      kind.padEnd(14),
      String(hits.length).padStart(5),
      spread(hits.map((hit) => hit.takenOverSeconds)),
      spread(hits.map((hit) => hit.progressSeconds)),
    ].join('  ');
  });
  return ['take-over       hits  next attempt (s)       next result (s)', ...rows];
}

function spread(values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  if (known.length === 0) return '–'.padEnd(21);
  const median = known[Math.floor((known.length - 1) / 2)] as number;
  return `${median.toFixed(1)} (at most ${(known.at(-1) as number).toFixed(1)})`.padEnd(21);
}
