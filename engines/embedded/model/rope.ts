import type { RopeTable } from '../kernels/kernels.js';
import type { Qwen3Config } from '../policy-api.js';

/**
 * cos and sin of position · theta^(−2d / headDim), [positions, headDim / 2] each. Angles are rounded to float32 step by step as
 * transformers does, because at large positions the rounding of the angle itself is what the log-probs of a reference contain.
 */
export function fillRopeTable(heap: Float32Array, rope: RopeTable, config: Qwen3Config, positions: number): void {
  const half = config.headDim / 2;
  for (let d = 0; d < half; d += 1) {
    const exponent = Math.fround((2 * d) / config.headDim);
    const inverse = Math.fround(1 / Math.fround(config.ropeTheta ** exponent));
    for (let position = 0; position < positions; position += 1) {
      const angle = Math.fround(position * inverse);
      heap[rope.cos + position * half + d] = Math.cos(angle);
      heap[rope.sin + position * half + d] = Math.sin(angle);
    }
  }
}
