import { describe, expect, it } from 'vitest';
import type { CostRecord } from '../../../shared/cost/cost-record.js';
import { summarizeCost } from '../../../shared/cost/summarize-cost.js';
import type { RunData } from '../../../shared/report/run-data.js';
import { costSection } from '../../../shared/report/sections/cost.js';
import { screeningSection } from '../../../shared/report/sections/screening.js';

const NOTHING = { seconds: 0, workerCpu: 0, engineCpu: 0 };

function attempt(stage: string, changes: Partial<CostRecord> = {}): CostRecord {
  const spent = { seconds: 20, workerCpu: 2, engineCpu: 14 };
  const at = '2026-10-07T10:00:00.000Z';
  return {
    id: stage,
    stage,
    work: stage,
    host: 'here',
    at,
    state: 'done',
    ...spent,
    gpus: 0,
    redone: NOTHING,
    ...changes,
  };
}

function page(attempts: readonly CostRecord[]): string {
  return costSection({ cost: summarizeCost(attempts) } as RunData).text;
}

describe('the section on cost', () => {
  it('says that nothing was wasted when nothing was', () => {
    const text = page([attempt('data', { engineCpu: 0 }), attempt('train:relax')]);
    expect(text).toContain('nothing was wasted');
    expect(text).not.toContain('GPU');
    expect(text).toContain('All stages');
  });

  it('names the wasted share, its bound, and the failed attempts of the stage', () => {
    const text = page([attempt('train:relax'), attempt('train:relax', { state: 'failed' })]);
    expect(text).toMatch(/Wasted: 50\.0.% of the CPU time/);
    expect(text).toContain('1 failed');
    expect(text).toMatch(/upper\s+bound/);
  });

  it('counts in GPU time where GPUs were held', () => {
    const text = page([attempt('train:relax', { gpus: 8 }), attempt('evaluate', { gpus: 8, state: 'failed' })]);
    expect(text).toMatch(/Wasted: 50\.0.% of\s+the GPU time/);
  });

  it('leaves out the stage that is still writing the report', () => {
    expect(page([attempt('data'), attempt('report', { state: 'running', ...NOTHING })])).not.toContain('>report<');
  });

  it('says where it would be that nothing is known', () => {
    expect(costSection({} as RunData).text).toContain('cost.json is not there');
  });
});

describe('the section on screening', () => {
  it('is only there where the recipe has one, and says when it did not come to its end', () => {
    expect(screeningSection({ recipe: { data: {} } } as unknown as RunData)).toBeUndefined();
    const started = { recipe: { data: { screening: { tries: 8 } } } } as unknown as RunData;
    expect(screeningSection(started)?.text).toContain('did not come to its end');
  });
});
