import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderReport, REPORT_LIMIT } from '../../../shared/report/report.js';
import type { Verdict } from '../../../shared/scoring/verdict-types.js';
import { buildHostileRun } from '../../fixtures/run-builder/build-hostile-run.js';
import { buildRun, type BuiltRun } from '../../fixtures/run-builder/build-run.js';

let root: string;
let run: BuiltRun;
let page: string;

const SMALL = { promptsPerStep: 1, groupSize: 4, items: 12, lengths: [4, 8] };

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-report-'));
  run = await buildRun({ root, ...SMALL, steps: 3, maxChunks: 6 });
  page = await renderReport(run.directory);
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** Text of the page, or of the first element that matches, with single spaces. */
function textOf(html: string, selector = 'body'): string {
  return (parseHTML(html).document.querySelector(selector)?.textContent ?? '').replace(/[\s\u00a0\u202f]+/g, ' ');
}

describe('the report of a finished run', () => {
  it('says the verdict first, in the verdict’s own words', async () => {
    const verdict = JSON.parse(await readFile(join(run.directory, 'verdict.json'), 'utf8')) as Verdict;
    const { document } = parseHTML(page);
    expect(document.querySelector('main .wrap > *')?.id).toBe('verdict');
    expect(textOf(page, '#verdict .sentence')).toBe(verdict.sentence.replace(/\s+/g, ' '));
    const chips = { passed: '✓ Passed', 'not-passed': '✕ Not passed', 'not-comparable': '≠ Not comparable' };
    expect(textOf(page, '#verdict h2')).toBe(chips[verdict.outcome]);
    const checks = verdict.pairs.length + verdict.baselines.filter(({ required }) => required).length;
    expect(document.querySelectorAll('#verdict .checks li').length).toBe(checks);
  });

  it('has every section, and nothing it calls missing', () => {
    const { document } = parseHTML(page);
    const links = [...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href')?.slice(1) ?? '');
    expect(links).toEqual([
      'verdict',
      'evaluation',
      'training',
      'samples',
      'comparison',
      'ledger',
      'timeline',
      'cost',
      'deviations',
      'provenance',
    ]);
    for (const id of links) expect(document.getElementById(id), id).not.toBeNull();
    expect(document.querySelectorAll('main .absent').length).toBe(1);
    expect(textOf(page, '#sample-fallback')).toContain('needs scripts');
  });

  it('shows scores of every model on every data set with counts and intervals', async () => {
    const summary = JSON.parse(await readFile(join(run.directory, 'eval/relax/eval_4.summary.json'), 'utf8')) as {
      sub_em_pct: number;
    };
    const rows = [...parseHTML(page).document.querySelectorAll('#evaluation table.grouped tbody tr')];
    expect(rows).toHaveLength(9);
    expect(rows.map((row) => row.textContent).join('')).toContain(`${summary.sub_em_pct.toFixed(1)}\u00a0%`);
  });

  it('says beside the numbers how many contexts were not read to their end', () => {
    const words = '8 chunks: not full context. 12 contexts of 12 were longer than 6 chunks of 24 tokens';
    expect(textOf(page, '#verdict')).toContain(words);
    expect(textOf(page, '#evaluation')).toContain(words);
    expect(textOf(page, '#evaluation')).not.toContain('4 chunks: not full context');
  });

  it('names attempts with causes, the ledger, hashes and the recipe', async () => {
    expect(textOf(page, '#timeline')).toContain('EngineUnavailable');
    expect(textOf(page, '#timeline')).toContain('3 attempts failed');
    expect(textOf(page, '#ledger')).toContain('3 of 3 steps equal');
    const verdict = createHash('sha256')
      .update(await readFile(join(run.directory, 'verdict.json')))
      .digest('hex');
    expect(page).toContain(verdict);
    expect(textOf(page, '#provenance pre')).toContain('"rolloutSeed": 42');
  });

  it('says which server answered, how it was started, and that this was the same for base and arms', async () => {
    expect(textOf(page, '#comparison')).toMatch(
      /the same server and settings for every model .*base, relax, vime ?vllm ?0\.32\.0 ?--dtype float32 --enforce-eager ?OMP_NUM_THREADS=2/
    );
    const other = await buildRun({ root, ...SMALL, pipelineId: 'other-server', steps: 1 });
    const path = join(other.directory, 'eval/vime/eval_8.summary.json');
    const text = (await readFile(path, 'utf8')).replace('"0.32.0"', '"0.33.0"');
    await rm(path);
    await writeFile(path, text);
    const differing = textOf(await renderReport(other.directory), '#comparison');
    expect(differing).toMatch(
      /models were served differently .*base, relax, vime ?vllm ?0\.32\.0.* vime ?vllm ?0\.33\.0/
    );
  });

  it('is one file: no address in it is ever loaded, no inline style or handler, and its policy names its own code by hash', () => {
    const { document } = parseHTML(page);
    expect(
      document.querySelectorAll('[src], link, img, iframe, object, embed, base, form[action], [style]').length
    ).toBe(0);
    for (const element of document.querySelectorAll('*')) {
      for (const { name } of element.attributes) expect(name.startsWith('on'), name).toBe(false);
    }
    for (const link of document.querySelectorAll('[href]')) expect(link.getAttribute('href')).toMatch(/^#/);
    const policy = document.querySelector('meta[http-equiv]')?.getAttribute('content') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    for (const tag of ['style', 'script']) {
      const blocks = [...page.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))];
      expect(blocks).toHaveLength(1);
      const digest = createHash('sha256')
        .update(blocks[0]?.[1] ?? '')
        .digest('base64');
      expect(policy).toContain(`${tag}-src 'sha256-${digest}'`);
    }
    expect(document.querySelectorAll('style, script:not([type="application/json"])').length).toBe(2);
  });

  it('has the same bytes each time, also when the report and the manifest were published since', async () => {
    expect(await renderReport(run.directory)).toBe(page);
    const producer = { activity: 'publishReport', attempt: 2, codeVersion: 'report-1' };
    await run.store.publish('report.html', page, { kind: 'report', inputs: [], producer });
    await run.store.writeManifest();
    expect(await renderReport(run.directory)).toBe(page);
  });

  it('has the same bytes from a copy without hidden folders', async () => {
    const copy = join(root, 'copies', 'laptop-demo');
    await cp(run.directory, copy, { recursive: true });
    await rm(join(copy, '.meta'), { recursive: true });
    expect(await renderReport(copy)).toBe(page);
  });

  it('keeps its charts’ numbers and colours by variables, for light and dark', () => {
    const charts = [...parseHTML(page).document.querySelectorAll('svg.plot')];
    expect(charts.length).toBeGreaterThanOrEqual(10);
    for (const chart of charts) {
      expect(chart.getAttribute('role')).toBe('img');
      expect(chart.getAttribute('aria-label')?.length).toBeGreaterThan(10);
    }
    expect(page).toContain('stroke="var(--arm-0)"');
  });
});

describe('the report of a run that stopped', () => {
  it('before training says so where the curves, scores and verdict would be', async () => {
    const stopped = await buildRun({ root, pipelineId: 'stopped-early', ...SMALL, steps: 2, until: 'train' });
    const html = await renderReport(stopped.directory);
    expect(textOf(html, '#verdict')).toContain('No verdict');
    expect(textOf(html, '#verdict')).toContain('it failed in stage train:relax');
    expect(textOf(html, '#verdict')).toContain('NonFiniteLoss: step 2: the gradient norm is NaN');
    expect(textOf(html, '#verdict')).toContain('Lower the learning rate');
    expect(textOf(html, '#training')).toContain('No reward series was written');
    expect(textOf(html, '#evaluation')).toContain('Nothing was evaluated');
    expect(textOf(html, '#samples')).toContain('no samples');
    expect(textOf(html, '#deviations')).toContain('verdict.json is not there');
    expect(textOf(html, '#deviations')).toContain('Stage train:relax is failed');
  });

  it('in the middle of everything, with torn files, is still a whole page', async () => {
    const torn = await buildRun({ root, pipelineId: 'torn', ...SMALL, steps: 2 });
    await writeFile(join(torn.directory, 'verdict.json'), '{"outcome": "pas');
    await writeFile(join(torn.directory, 'timeline.json'), '');
    await writeFile(join(torn.directory, 'arms/vime/reward.csv'), 'step,reward\n0,0.5\n1');
    await writeFile(join(torn.directory, 'eval/vime/dev.summary.json'), '[');
    await rm(join(torn.directory, 'arms/relax/metrics.csv'));
    const html = await renderReport(torn.directory);
    expect(textOf(html, '#verdict')).toContain('No verdict');
    expect(textOf(html, '#timeline')).toContain('when the stages ran is not known');
    expect(textOf(html, '#evaluation')).toContain('Not evaluated: vime on Development set');
    for (const name of ['verdict.json', 'timeline.json', 'eval/vime/dev.summary.json']) {
      expect(textOf(html, '#deviations')).toContain(`${name} is not whole JSON`);
    }
    expect(textOf(html, '#deviations')).toContain('arms/relax/metrics.csv is not there');
  });

  it('is refused for a folder that is no run', async () => {
    await expect(renderReport(root)).rejects.toMatchObject({ type: 'DataInvalid', details: { where: root } });
    await expect(renderReport(join(root, 'nowhere'))).rejects.toMatchObject({ type: 'DataInvalid' });
  });
});

describe('the report of a hostile run', () => {
  it('stays below its limit and has no markup but its own', async () => {
    const hostile = await buildHostileRun(root);
    const html = await renderReport(hostile);
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(REPORT_LIMIT);
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<\/script/g)).toHaveLength(2);
    const forbidden = /<img|<svg onload|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u2028-\u202e]/.exec(html);
    expect(forbidden?.[0]).toBeUndefined();
    expect(html.includes('characters left out')).toBe(true);
  });
});
