import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparisonFacts } from '../../../shared/report/compare-runs/facts.js';
import { renderRunComparison } from '../../../shared/report/compare-runs/compare-runs.js';
import { runComparisonMarkdown } from '../../../shared/report/compare-runs/markdown.js';
import { loadRun } from '../../../shared/report/load-run.js';
import type { RunData } from '../../../shared/report/run-data.js';
import { buildRun } from '../../fixtures/run-builder/build-run.js';

const SIZE = { promptsPerStep: 2, groupSize: 2, items: 8, lengths: [4, 8] };

let root: string;
let short: RunData;
let long: RunData;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-compare-runs-'));
  short = await loadRun((await buildRun({ root, pipelineId: 'short', steps: 2, ...SIZE })).directory);
  long = await loadRun((await buildRun({ root, pipelineId: 'long', steps: 3, ...SIZE })).directory);
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

describe('a comparison of runs', () => {
  it('names every field in which the recipes differ, with each run’s value', () => {
    const { differences } = comparisonFacts([short, long]);
    expect(differences).toContainEqual({ path: 'grpo.steps', values: ['2', '3'] });
    expect(comparisonFacts([short, short]).differences).toEqual([]);
    expect(runComparisonMarkdown([short, long])).toContain('| `grpo.steps` | `2` | `3` |');
  });

  it('has every run’s arms, evaluations with intervals, verdict and time', () => {
    const text = runComparisonMarkdown([short, long]);
    expect(text).toContain('## short · long');
    for (const arm of ['short relax', 'short vime', 'long relax', 'long vime']) expect(text).toContain(`| ${arm} |`);
    expect(text).toMatch(/\| 4 \w+ \| (base \| )?.*% \(\d+\.\d – \d+\.\d\)/);
    expect(text).toMatch(/\| short \| 4\smin 05\ss \|/);
  });

  it('tells runs of one name apart', () => {
    expect(comparisonFacts([short, short]).runs.map(({ run }) => run)).toEqual(['short#1', 'short#2']);
  });

  it('is one page that loads nothing and has the curves of all runs in one chart', () => {
    const page = renderRunComparison([short, long]);
    expect(page).not.toMatch(/(src|href)="(?!#)/);
    expect(page).toMatch(/aria-label="Line chart of the mean reward[^"]*short relax[^"]*long vime/);
    expect(renderRunComparison([short, long])).toBe(page);
  });

  it('says beside the curves whose rewards are means over rows, and of no others', async () => {
    for (const text of [runComparisonMarkdown([short, long]), renderRunComparison([short, long])])
      expect(text).not.toContain('mean over a step’s rows');
    const source = { metrics: ['rollout/raw_reward'], mean_over: 'rows' };
    await writeFile(join(long.directory, 'arms/vime/reward.json'), JSON.stringify(source));
    const jobs = await loadRun(long.directory);
    const page = renderRunComparison([short, jobs]);
    const said = 'Of long vime the reward is a mean over a step’s rows (rollout/raw_reward)';
    expect(/<figcaption>(.*?)<\/figcaption>/s.exec(page)?.[1]).toContain(said);
    expect(runComparisonMarkdown([short, jobs])).toContain(said.replace('raw_reward', 'raw\\_reward'));
    expect(comparisonFacts([jobs]).runs[0]?.rewardMeanOver).toEqual({ relax: 'trajectories', vime: 'rows' });
  });

  it('lets no name become markup', () => {
    const evil = { ...long, name: '<img src=x onerror=alert(1)>|`', progress: undefined } as unknown as RunData;
    delete evil.progress;
    expect(renderRunComparison([short, evil])).not.toContain('<img');
    expect(runComparisonMarkdown([short, evil])).toContain('\\<img src=x onerror=alert(1)\\>\\|\\`');
  });

  it('shows what an unfinished run has', () => {
    const unfinished = { ...long, arms: [], evaluations: [] } as RunData;
    delete unfinished.verdict;
    expect(runComparisonMarkdown([short, unfinished])).toContain('- **long**: no verdict');
    expect(renderRunComparison([short, unfinished])).toContain('The run ended before it was judged.');
  });
});
