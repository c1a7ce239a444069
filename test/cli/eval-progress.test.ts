import { describe, expect, it } from 'vitest';
import { progressLine, progressPicture } from '../../cli/eval/progress.js';

const PROGRESS = { done: 12, total: 60, errors: 1, samplesPerSecond: 1.25, subEmPct: 41.66, boxedEmPct: 33.3 };

describe('progress of an evaluation', () => {
  it('is one line with counts, speed, time left, scores and errors', () => {
    expect(progressLine(PROGRESS)).toBe(
      '12/60 (20 %)  1.3 samples/s  ETA 38 s  sub-EM 41.7 %  boxed EM 33.3 %  1 error'
    );
  });

  it('has no time left at the end, and a slow one keeps its digits', () => {
    const line = progressLine({ ...PROGRESS, done: 60, samplesPerSecond: 0.031 });
    expect(line).toMatch(/^60\/60 \(100 %\) {2}0\.03 samples\/s {2}sub-EM/);
  });

  it('shows a hostile error as text on a few lines', () => {
    const lastError = `GenerationFailed: \u001b[2J\u001b]0;title\u0007${'x'.repeat(10_000)}\n</script>`;
    const picture = progressPicture({ ...PROGRESS, lastError }, 80, false);
    expect(picture.split('\n')).toHaveLength(3);
    expect(picture).not.toMatch(/[\u001b\u0007]/);
    expect(picture.length).toBeLessThan(500);
  });
});
