import { GRADIENT_LANES, type Model } from '../model/model.js';
import { SECOND_LANE, type SecondThread } from '../second/thread.js';
import { countTargets, planPacks, type RowRange, type ScoredRow, type Scores, scorePack } from './scoring.js';

/**
 * Log-probs and gradients of many rows, on one thread or two. Packs go to the gradient lanes in turn whatever the number of
 * threads, and the lanes are added up in their order: the results have the same bits.
 */
export class Scorer {
  /** @param second takes every second pack; null = one thread does all */
  constructor(
    private readonly model: Model,
    public second: SecondThread | null
  ) {}

  /** @param gradients add the gradients of the rows' losses to the lanes, which must be zero */
  score(rows: readonly ScoredRow[], temperature: number, gradients: boolean): Scores {
    const { model, second } = this;
    const packs = planPacks(rows);
    const scores = emptyScores(countTargets(rows), second !== null);
    const mine = (_: RowRange, index: number): boolean => second === null || index % GRADIENT_LANES !== SECOND_LANE;
    const others = packs.filter((pack, index) => !mine(pack, index));
    if (others.length > 0)
      second?.begin({
        kind: 'score',
        packs: others.map(({ first, end, token }) => ({ rows: rows.slice(first, end), token })),
        temperature,
        gradients,
        scores,
      });
    packs.forEach((pack, index) => {
      if (!mine(pack, index)) return;
      const lane = gradients ? index % GRADIENT_LANES : null;
      scorePack(model, rows.slice(pack.first, pack.end), temperature, lane, scores, pack.token);
    });
    if (others.length > 0) second?.finishScore({ gradients });
    return scores;
  }
}

function emptyScores(tokens: number, shared: boolean): Scores {
  const floats = (): Float32Array =>
    shared ? new Float32Array(new SharedArrayBuffer(4 * tokens)) : new Float32Array(tokens);
  return { logProbs: floats(), entropies: floats() };
}
