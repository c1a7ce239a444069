import { describe, expect, it } from 'vitest';
import { statisticsBlock } from '../../../shared/report/sections/statistics.js';
import type { RunData } from '../../../shared/report/run-data.js';
import { pairedStatistics } from '../../../shared/scoring/statistics.js';

/** Cells of the table's only row. */
function row(first: readonly number[], second: readonly number[]): string[] {
  const statistics = pairedStatistics(first, second, 3);
  const pair = { dataset: 'eval_4', first: 'vime', second: 'relax', metric: 'sub_em', statistics };
  const block = statisticsBlock({ verdict: { pairs: [pair], baselines: [] }, datasets: [] } as unknown as RunData);
  const body = block?.text.split('<tbody>')[1] ?? '';
  return [...body.matchAll(/<t[dh][^>]*>([^]*?)<\/t[dh]>/g)].map(([, cell = '']) =>
    cell.replace(/<[^>]*>/g, '').trim()
  );
}

describe('the paired statistics in the report', () => {
  it('say from which difference on so many items would show it', () => {
    const cells = row([1, 0, 1, 1, 0, 1, 1, 1], [1, 1, 1, 1, 1, 0, 1, 1]);
    expect(cells.at(-1)).toMatch(/^\d+\.\d$/);
  });

  it('say nothing of that where two models never disagreed: 0 would read as if any difference showed', () => {
    const cells = row([1, 0, 1, 1], [1, 0, 1, 1]);
    expect(cells.at(-1)).toBe('–');
    expect(cells[1]).toBe('0.0');
  });
});
