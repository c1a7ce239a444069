import type { GenerateTurn, TurnResponse } from '../../../shared/memory/types.js';
import type { GenerationResult, Policy } from '../policy-api.js';

interface Sampling {
  temperature: number;
  topP: number;
  seed: number;
}

/** Answers the turns of many trajectories with one policy in this thread: what is asked in the same moment is decoded together. */
export class PolicyTurns {
  private readonly waiting = new Map<string, (response: TurnResponse) => void>();
  private scheduled = false;

  constructor(
    private readonly policy: Policy,
    private readonly stopTokenIds: readonly number[],
    private readonly sampling: Sampling
  ) {}

  /** @param prompt number of the trajectory: part of the key of its random numbers */
  generator(prompt: number): GenerateTurn {
    return ({ promptIds, maxNewTokens, turnIndex }) =>
      new Promise((resolve) => {
        const id = `${prompt}/${turnIndex}`;
        const { temperature, topP, seed } = this.sampling;
        this.waiting.set(id, resolve);
        this.policy.generator.submit({
          id,
          promptIds,
          maxNewTokens,
          temperature,
          topP,
          topK: -1,
          stopTokenIds: this.stopTokenIds,
          samplingKey: { seed, rolloutId: 0, prompt, sample: 0, turn: turnIndex },
          topLogProbs: 0,
          promptLogProbsFrom: -1,
        });
        this.schedule();
      });
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      for (const result of this.policy.generator.advance()) this.answer(result);
      if (this.policy.generator.hasWork()) this.schedule();
    });
  }

  private answer(result: GenerationResult): void {
    const { finish } = result;
    if (finish.type === 'error') throw new Error(`${result.id}: ${finish.message}`);
    const { outputIds, outputLogProbs: logProbs } = result;
    this.waiting.get(result.id)?.({ outputIds, logProbs, finish: finish.type });
    this.waiting.delete(result.id);
  }
}
