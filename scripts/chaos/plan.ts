import type { PhiloxStream } from '../../shared/random/philox.js';
import { FAULT_KINDS, type FaultKind } from './faults.js';

/** One fault to come: as soon as so many artifacts are there. */
export interface PlannedMoment {
  artifacts: number;
  /** Further pause, so that it strikes in the middle of things. Unit: milliseconds. */
  thenMs: number;
  /** Strikes without waiting for progress after the fault before. */
  atOnce: boolean;
}

export interface ChaosPlan {
  /** In the order they are tried; each kind comes about equally often. */
  kinds: FaultKind[];
  moments: PlannedMoment[];
}

/** Share of the run in which faults strike: before, nothing can be lost; after, there is no time to recover. */
const FROM = 0.02;
const TO = 0.8;
const LONGEST_THEN_MS = 400;
const AT_ONCE_SHARE = 0.15;

/**
 * Draws kinds and moments. Moments are counted in artifacts, not in seconds: a slow machine meets the same faults at the same
 * places.
 */
export function drawPlan(
  random: PhiloxStream,
  faults: number,
  artifacts: number,
  excluded: ReadonlySet<FaultKind>
): ChaosPlan {
  const kinds: FaultKind[] = [];
  const possible = FAULT_KINDS.filter((kind) => !excluded.has(kind));
  while (kinds.length < faults) kinds.push(...shuffled(random, possible));
  const moments = Array.from({ length: faults }, () => ({
    artifacts: Math.round(artifacts * (FROM + (TO - FROM) * random.nextUniform())),
    thenMs: random.nextInt(LONGEST_THEN_MS),
    atOnce: random.nextUniform() < AT_ONCE_SHARE,
  })).sort((a, b) => a.artifacts - b.artifacts);
  return { kinds: kinds.slice(0, faults), moments };
}

function shuffled<T>(random: PhiloxStream, list: readonly T[]): T[] {
  const rest = [...list];
  return list.map(() => rest.splice(random.nextInt(rest.length), 1)[0] as T);
}
