import type { EmbeddedActorClient } from '../engines/embedded/client/actor-client.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Trajectory, Turn } from '../shared/contracts/trajectory.js';

/** Turns that are scored by the actor, spread over the step's trajectories. */
const CHECKED_TURNS = 16;

/**
 * Largest difference of a token's log-prob between two engines with the same float32 weights: sums in another order give up to some
 * 1e-5. Weights one update apart differ by more than ten times this limit at the laptop recipe's learning rate. Unit: nats.
 */
export const LOGPROB_TOLERANCE = 1e-3;

/**
 * Scores some sampled turns with the actor. Log-probs that are not the actor's were made by other weights, whatever version the server
 * wrote into its replies.
 *
 * @returns the largest difference, nats
 * @throws PipelineError EngineUnavailable when it is above {@link LOGPROB_TOLERANCE}
 */
export async function spotCheck(
  trajectories: readonly Trajectory[],
  actor: Pick<EmbeddedActorClient, 'score'>,
  { step, temperature }: { step: number; temperature: number },
  signal: AbortSignal
): Promise<number> {
  const turns = spread(trajectories.flatMap((trajectory) => trajectory.turns));
  if (turns.length === 0) return 0;
  const rows = turns.map(({ tokens, responseLength }) => ({ tokens, response_length: responseLength }));
  // Servers report greedy replies at temperature 1.
  const call = { expected_weights_version: step, rows, temperature: temperature === 0 ? 1 : temperature };
  const scored = await actor.score(call, { signal });
  let largest = 0;
  for (const [index, turn] of turns.entries())
    for (const [token, logProb] of (scored[index] ?? []).entries())
      largest = Math.max(largest, Math.abs(logProb - (turn.rolloutLogProbs[token] as number)));
  if (largest <= LOGPROB_TOLERANCE) return largest;
  throw new PipelineError(
    'EngineUnavailable',
    `step ${step}: the rollout server’s log-probs differ from the actor’s by ${largest.toPrecision(3)} (at most ${LOGPROB_TOLERANCE} is allowed): it serves other weights`,
    { problems: [`largest difference of ${turns.length} turns: ${largest}`] }
  );
}

function spread(turns: readonly Turn[]): Turn[] {
  const count = Math.min(CHECKED_TURNS, turns.length);
  return Array.from({ length: count }, (_, i) => turns[Math.floor((i * turns.length) / count)] as Turn);
}
