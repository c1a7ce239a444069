import type { LossOptions, OptimizerOptions, Policy } from '../../engines/embedded/policy-api.js';
import type { TaskName, Workload } from './workload.js';

const LOSS: LossOptions = {
  clipLow: 0.2,
  clipHigh: 0.3,
  klCoefficient: 0.001,
  temperature: 1,
  reduction: 'sample_mean',
};
/** Rate 0: the same work as any other rate, and every round does the same work. */
const OPTIMIZER: OptimizerOptions = {
  learningRate: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  gradientClip: 1,
};

/** The tasks of the benchmark on the embedded policy; each returns what can be compared with the other side's answer. */
export class EngineSide {
  private requests = 0;

  constructor(
    private readonly policy: Policy,
    private readonly frozen: Policy,
    private readonly work: Workload
  ) {}

  run(task: TaskName): number {
    const { prompts, openings, newTokens } = this.work;
    switch (task) {
      case 'train':
        return this.policy.trainStep(this.work.turns.flat(), LOSS, OPTIMIZER).gradientNorm;
      case 'score':
        return this.frozen
          .logProbs(this.work.turns.flat(), 1)
          .reduce((total, values) => total + values.reduce((sum, value) => sum + value, 0), 0);
      case 'prefill':
        // Without this, prompts of the round before would not be computed again.
        this.policy.flushCache();
        this.generate(prompts, () => 1);
        return 0;
      case 'sample':
        this.policy.flushCache();
        this.generate(openings, () => newTokens);
        return 0;
      case 'sample_top_p':
        this.policy.flushCache();
        this.generate(openings, () => newTokens, 0.7, 0.95);
        return 0;
      case 'step':
        return this.step();
    }
  }

  /** One GRPO step as the recipe does it: five turns of 64 requests, reference log-probs, one update. */
  private step(): number {
    for (const turn of this.work.turns) {
      const promptsOf = turn.map(({ tokens, responseLength }) => tokens.slice(0, tokens.length - responseLength));
      this.generate(promptsOf, (index) => turn[index]!.responseLength);
    }
    const rows = this.work.turns.flat().map(({ refLogProbs: _, ...row }) => row);
    return this.policy.trainStep(rows, LOSS, OPTIMIZER, this.frozen).gradientNorm;
  }

  /** No stop id: both sides make as many tokens as they are told to. */
  private generate(
    promptIds: readonly number[][],
    newTokens: (index: number) => number,
    temperature = 1,
    topP = 1
  ): void {
    const { generator } = this.policy;
    promptIds.forEach((ids, index) => {
      this.requests += 1;
      generator.submit({
        id: String(this.requests),
        promptIds: ids,
        maxNewTokens: newTokens(index),
        temperature,
        topP,
        topK: -1,
        stopTokenIds: [],
        samplingKey: { seed: 1, rolloutId: 0, prompt: index, sample: 0, turn: 0 },
        topLogProbs: 0,
        promptLogProbsFrom: -1,
      });
    });
    while (generator.hasWork()) generator.advance();
  }
}
