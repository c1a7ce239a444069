import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { renderReport } from '../../../shared/report/report.js';
import { packageRoot } from '../../../shared/runtime/entry.js';
import { chromiumPath, WITHOUT_BROWSER } from '../../fixtures/chromium.js';
import { buildHostileRun } from '../../fixtures/run-builder/build-hostile-run.js';
import { buildRun } from '../../fixtures/run-builder/build-run.js';

/** What a page did beside showing itself. */
interface Watch {
  requests: string[];
  complaints: string[];
}

describe.skipIf(chromiumPath === undefined)(`the report in a browser${WITHOUT_BROWSER}`, () => {
  let root: string;
  let browser: Browser;
  const pages: Record<string, string> = {};

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'memagent-browser-'));
    const small = { promptsPerStep: 1, groupSize: 4, lengths: [4, 8], maxChunks: 6 };
    const complete = await buildRun({ root, ...small, steps: 12, items: 40 });
    const stopped = await buildRun({ root, pipelineId: 'stopped', ...small, steps: 2, items: 8, until: 'evaluate' });
    const runs = { complete: complete.directory, stopped: stopped.directory, hostile: await buildHostileRun(root) };
    for (const [name, directory] of Object.entries(runs)) {
      const file = join(root, `${name}.html`);
      await writeFile(file, await renderReport(directory));
      pages[name] = pathToFileURL(file).href;
    }
    browser = await chromium.launch({
      ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
      args: ['--no-sandbox'],
    });
  });

  afterAll(async () => {
    await browser?.close();
    await rm(root, { recursive: true, force: true });
  });

  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
  });

  async function open(name: string, options: BrowserContextOptions = {}): Promise<{ page: Page; watch: Watch }> {
    const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const watch: Watch = { requests: [], complaints: [] };
    page.on('request', (request) => watch.requests.push(request.url()));
    page.on('console', (message) => watch.complaints.push(message.text()));
    page.on('pageerror', (error) => watch.complaints.push(String(error)));
    page.on('dialog', (dialog) => void watch.complaints.push(dialog.message()));
    await page.goto(pages[name] ?? '');
    return { page, watch };
  }

  it.each(['complete', 'stopped', 'hostile'])(
    'asks for nothing, complains of nothing and runs nothing foreign: %s',
    async (name) => {
      const { page, watch } = await open(name);
      for (const sample of await page.locator('.sample summary').all()) await sample.click();
      expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
      expect(watch).toEqual({ requests: [pages[name]], complaints: [] });
    }
  );

  it('shows hostile texts as texts in every data set', async () => {
    const { page } = await open('hostile');
    const elements = (): Promise<number> =>
      page.locator('#sample-list img, #sample-list script, #sample-list svg').count();
    const names = await page
      .locator('#sample-dataset option')
      .evaluateAll((options) => options.map((option) => option.getAttribute('value')));
    expect(names).toEqual(['dev', 'eval_4', 'eval_8']);
    for (const name of names) {
      await page.selectOption('#sample-dataset', name);
      await page.fill('#sample-search', 'onerror');
      expect(await page.locator('.sample').count()).toBeGreaterThan(0);
      await page.locator('.sample summary').first().click();
      expect(await page.locator('.sample[open]').innerText()).toContain('<img src=x onerror="globalThis.hacked=1">');
      expect(await elements()).toBe(0);
    }
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
  });

  const looks: { look: string; options: BrowserContextOptions }[] = [
    { look: 'light', options: { colorScheme: 'light' } },
    { look: 'dark', options: { colorScheme: 'dark' } },
    { look: '390 px wide', options: { viewport: { width: 390, height: 844 } } },
  ];

  describe.each(looks)('looked at $look', ({ options }) => {
    it.each(['complete', 'stopped', 'hostile'])('has no accessibility violation that axe finds: %s', async (name) => {
      const { page } = await open(name, { ...options, bypassCSP: true });
      await page
        .locator('.sample summary')
        .first()
        .click({ trial: false, timeout: 2000 })
        .catch(() => undefined);
      await page.addScriptTag({
        content: await readFile(join(packageRoot(), 'node_modules/axe-core/axe.min.js'), 'utf8'),
      });
      const violations = (await page.evaluate(
        'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`))'
      )) as string[];
      expect(violations).toEqual([]);
    });

    it.each(['complete', 'stopped', 'hostile'])('never scrolls sideways as a whole: %s', async (name) => {
      const { page } = await open(name, options);
      const widths = (await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]')) as number[];
      expect(widths[0]).toBe(widths[1]);
    });
  });

  it('filters and searches the samples, and shows more of them', async () => {
    const { page } = await open('complete');
    const count = (): Promise<string> => page.locator('#sample-count').innerText();
    const rows = page.locator('.sample');
    expect(await count()).toBe('40 items');
    expect(await rows.count()).toBe(15);
    await page.locator('button.more').click();
    expect(await rows.count()).toBe(30);
    const labels = await page.locator('#sample-filter option').allInnerTexts();
    expect(labels).toContain('all items (40)');
    const won = labels.find((label) => label.startsWith('won by every arm')) ?? '';
    await page.selectOption('#sample-filter', { label: won });
    expect(await count()).toBe(`${/\((\d+)\)/.exec(won)?.[1]} items`);
    expect(await page.locator('.outcome.wrong', { hasText: /relax|vime/ }).count()).toBe(0);
    await page.selectOption('#sample-filter', 'all');
    await page.fill('#sample-search', '#7');
    expect(await count()).toBe('1 item');
    await page.fill('#sample-search', 'no such words');
    expect(await count()).toBe('No item matches.');
  });

  it('tells where the memory got and lost the answer', async () => {
    const { page } = await open('complete');
    await page.selectOption('#sample-filter', 'better');
    await page.locator('.sample summary').first().click();
    const stories = await page.locator('.sample[open] .story').allInnerTexts();
    expect(stories).toHaveLength(3);
    expect(stories.join('\n')).toMatch(/The memory never held the answer|was lost at chunk/);
    expect(stories.join('\n')).toMatch(/The answer entered the memory at chunk \d+ and stayed/);
  });

  it('works with the keyboard alone', async () => {
    const { page } = await open('complete');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('skip');
    await page.locator('#sample-search').focus();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
    await page.keyboard.press('Enter');
    // A sample is filled in when the browser tells that it was opened.
    await expect.poll(() => page.locator('.sample[open] .result').count(), { timeout: 20_000 }).toBe(3);
    await page.locator('button.more').focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.querySelector(".number").textContent')).toBe('#15');
  });

  it('prints without its controls, in light colours, with the wide charts', async () => {
    const { page } = await open('complete', { colorScheme: 'dark', viewport: { width: 390, height: 844 } });
    await page.emulateMedia({ media: 'print' });
    for (const hidden of ['nav.contents', '.controls', '#sample-list', '.narrow-only >> nth=0']) {
      expect(await page.locator(hidden).isVisible(), hidden).toBe(false);
    }
    for (const shown of ['.wide-only >> nth=0', '#samples .print-only', '#verdict']) {
      expect(await page.locator(shown).isVisible(), shown).toBe(true);
    }
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  });

  it('keeps its verdict and tables when scripts are off', async () => {
    const { page } = await open('complete', { javaScriptEnabled: false });
    expect(await page.locator('#verdict .sentence').innerText()).not.toBe('');
    expect(await page.locator('#sample-fallback').isVisible()).toBe(true);
    expect(await page.locator('.controls').isVisible()).toBe(false);
  });
});
