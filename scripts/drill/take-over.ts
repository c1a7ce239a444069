import type { Ledger } from '../chaos/ledger.js';
import { account } from '../chaos/ledger.js';
import type { FaultKind } from '../chaos/faults.js';
import type { Stage } from '../chaos/processes.js';
import { runUnderFire } from '../chaos/run.js';
import { PhiloxStream } from '../../shared/random/philox.js';

const KINDS: readonly FaultKind[] = ['kill engine', 'kill worker', 'kill server'];
const LONGEST_THEN_MS = 400;

/** Kills engine, a worker and the server in turn, evenly over a run, and accounts for what followed. */
export async function takeOverDrill(run: {
  stage: Stage;
  recipe: Record<string, unknown>;
  id: string;
  runDirectory: string;
  heartbeatMs: number;
  /** Artifacts of a calm run. */
  artifacts: number;
  rounds: number;
}): Promise<Ledger> {
  const { stage, recipe, id, runDirectory, heartbeatMs, artifacts, rounds } = run;
  const kinds = Array.from({ length: rounds }, () => KINDS).flat();
  const random = new PhiloxStream(1, [0, 0, 0]);
  const moments = kinds.map((_, index) => ({
    artifacts: Math.round(artifacts * (0.1 + (0.65 * index) / kinds.length)),
    // Just after a result nothing may be under way: not every kill should fall there.
    thenMs: random.nextInt(LONGEST_THEN_MS),
    atOnce: false,
  }));
  const chaos = { plan: { kinds, moments }, random, disk: undefined, heartbeatMs };
  const outcome = await runUnderFire({ stage, recipe, id, runDirectory, chaos, say: () => undefined });
  return account(outcome.faults, outcome.runs, outcome.progress);
}
