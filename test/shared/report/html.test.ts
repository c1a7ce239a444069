import fc from 'fast-check';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { escapeHtml, html, Html, jsonForScript, printable } from '../../../shared/report/html.js';
import { HOSTILE_TEXTS } from '../../fixtures/hostile.js';

describe('text in a page', () => {
  it.each(HOSTILE_TEXTS)('stays text: $name', ({ text }) => {
    const page = html`<!doctype html>
      <body>
        <p title="${text}">${text}</p>
        <b>end</b>
      </body>`;
    const { document } = parseHTML(page.text);
    expect(document.querySelectorAll('*').length).toBe(3);
    expect(document.querySelector('p')?.textContent).toBe(printable(text));
    expect(document.querySelector('p')?.getAttribute('title')).toBe(printable(text));
    expect(document.querySelector('p')?.attributes.length).toBe(1);
  });

  it('never has a character that ends a tag, an attribute or an entity, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const escaped = escapeHtml(text);
        expect(escaped).not.toMatch(
          /[<>"'`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/u
        );
        expect(escaped.replace(/&(?:amp|lt|gt|quot|#39|#96);/g, '')).not.toContain('&');
      }),
      { seed: 11 }
    );
  });

  it('shows invisible characters as pictures or numbers', () => {
    expect(printable('a\u0000\u001b[31m\u007f\u009f\u202eb\ud800')).toBe('a␀␛[31m␡‹U+009F›‹U+202E›b\ufffd');
    expect(printable('tab\t line\n crlf\r\n cr\r')).toBe('tab\t line\n crlf\n cr␍');
  });
});

describe('templates', () => {
  it('escape values but not markup, join lists, and leave out nothing-values', () => {
    const list = ['<i>', html`<b>x</b>`].map((each) => html`<li>${each}</li>`);
    expect(html`${list}${null}${undefined}${false}${0}${''}`.text).toBe('<li>&lt;i&gt;</li><li><b>x</b></li>0');
    expect(new Html('a').toString()).toBe('a');
  });
});

describe('JSON in a script element', () => {
  it.each(HOSTILE_TEXTS)('comes back and cannot end the element: $name', ({ text }) => {
    const written = jsonForScript({ text, list: [text] }).text;
    expect(written).not.toMatch(/[<>&\u2028\u2029]/);
    expect(JSON.parse(written)).toEqual({ text, list: [text] });
  });
});
