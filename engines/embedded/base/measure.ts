import type { MemoryLimits } from '../../../shared/contracts/trajectory.js';
import { laptopItem } from '../../../shared/data/laptop-generator.js';
import { chunkContext } from '../../../shared/memory/chunking.js';
import { runTrajectory } from '../../../shared/memory/recurrent-loop.js';
import { scoreTrajectory } from '../../../shared/scoring/reward.js';
import type { Tokenizer } from '../../../shared/tokenizer/types.js';
import type { Policy } from '../policy-api.js';
import { PolicyTurns } from './policy-turns.js';

/** Limits of the laptop recipe. */
export const LAPTOP_LIMITS: MemoryLimits = { chunkTokens: 24, memoryTokens: 16, finalTokens: 8, maxChunks: 64 };
const FACTS_PER_CHUNK = 8;

export interface MeasureOptions {
  items: number;
  chunks: number;
  temperature: number;
  topP: number;
  /** Seed of items and sampling. */
  seed: number;
}

export interface Measured {
  /** Share of items answered rightly. */
  success: number;
  /** Share of turns that the model ended by itself. */
  ended: number;
}

/** Answers unseen items through the recurrent loop, as an evaluation does, with the policy called directly. */
export async function measure(policy: Policy, tokenizer: Tokenizer, options: MeasureOptions): Promise<Measured> {
  const turns = new PolicyTurns(policy, tokenizer.eosTokenIds, options);
  const results = await Promise.all(
    Array.from({ length: options.items }, async (_, index) => {
      const { seed, chunks } = options;
      const item = laptopItem({ seed, set: 'dev', chunks, factsPerChunk: FACTS_PER_CHUNK, index });
      const result = await runTrajectory(
        {
          question: item.question,
          context: chunkContext(tokenizer, item.context.trim(), LAPTOP_LIMITS),
          limits: LAPTOP_LIMITS,
          flavour: 'relax',
          evaluation: true,
        },
        { tokenizer, generate: turns.generator(index) }
      );
      if (result.error !== undefined) throw result.error;
      const { score } = scoreTrajectory('relax', { finalOutput: result.finalOutput, label: item.answer });
      return { score, turns: result.turns };
    })
  );
  const all = results.flatMap((result) => result.turns);
  return {
    success: results.reduce((sum, { score }) => sum + score, 0) / results.length,
    ended: all.filter((turn) => turn.finishReason === 'completed').length / all.length,
  };
}
