import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../runtime/entry.js';
import { Html, html } from './html.js';

let assets: { css: Html; script: Html } | undefined;

/** The page's own style sheet and script; both are ours, so they go in as they are. */
function loadAssets(): { css: Html; script: Html } {
  const folder = join(packageRoot(), 'shared', 'report', 'assets');
  const read = (name: string): Html => new Html(readFileSync(join(folder, name), 'utf8'));
  assets ??= { css: read('report.css'), script: read('report.js') };
  return assets;
}

function cspHash(content: Html): string {
  return `'sha256-${createHash('sha256').update(content.text, 'utf8').digest('base64')}'`;
}

/**
 * The whole page. Its policy forbids every request, form, base and frame, and every style or script but the two of this
 * package, by hash: whatever a model wrote cannot run even if it ended up as markup.
 */
export function renderPage(title: string, body: Html): string {
  const { css, script } = loadAssets();
  const policy = [
    "default-src 'none'",
    `style-src ${cspHash(css)}`,
    `script-src ${cspHash(script)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  // Exactly the hashed bytes between the tags: no template may put white space there.
  const style = new Html(`<style>${css.text}</style>`);
  const code = new Html(`<script>${script.text}</script>`);
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta name="generator" content="memagent-pipeline" />
        <title>${title}</title>
        ${style}
      </head>
      <body>
        ${body} ${code}
      </body>
    </html>`;
  return `${page.text}\n`;
}
