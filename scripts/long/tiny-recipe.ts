/** The smallest recipe that goes through every stage for real: one arm, 2 prompts × 2 samples a step. */
export function tiniestRecipe(root: string, steps: number, seed: number, tag: string): Record<string, unknown> {
  return {
    name: 'long',
    engine: 'embedded',
    model: { path: 'models/laptop' },
    data: { generate: { seed: 7, trainItems: 16, devItems: 4, trainChunks: 2, factsPerChunk: 8 } },
    memory: { chunkTokens: 24, memoryTokens: 8, finalTokens: 4, maxChunks: 64 },
    arms: { relax: { flavour: 'relax' } },
    grpo: {
      steps,
      promptsPerStep: 2,
      groupSize: 2,
      learningRate: 1e-5,
      weightDecay: 0,
      seed,
      rolloutSeed: seed,
      checkpointEvery: Math.max(1, Math.round(steps / 4)),
    },
    evaluation: { lengths: [2], items: 4, concurrency: 4, serverContext: 128 },
    placement: { data: tag, rollout: tag, train: tag, convert: tag, evaluate: tag },
    limits: { heartbeatSeconds: 10 },
    artifacts: root,
  };
}
