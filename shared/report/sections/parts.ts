import { html, type Html, type Value } from '../html.js';

/** A section with a heading that the page's navigation can point to. */
export function section(id: string, title: string, lead: Value, content: Value): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${lead !== '' && html`<p class="lead">${lead}</p>`} ${content}
  </section>`;
}

export interface Column {
  label: Value;
  /** Numbers are aligned right. */
  number?: boolean;
  note?: string;
}

/** Rows under one heading, which stands in the first column beside all of them. */
export interface RowGroup {
  heading: Value;
  rows: readonly (readonly Value[])[];
}

/** A table that scrolls sideways on narrow screens; the first cell of each row is its heading. */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Value[])[],
  className = ''
): Html {
  const body = html`<tbody>
    ${rows.map(
      (row) =>
        html`<tr>
          ${row.map((cell, at) => tableCell(columns, cell, at, at === 0))}
        </tr>`
    )}
  </tbody>`;
  return tableFrame(caption, columns, body, className);
}

/** Like {@link table} with a heading beside each group of rows; the rows' own headings are the second column. */
export function groupedTable(caption: string, columns: readonly Column[], groups: readonly RowGroup[]): Html {
  const bodies = groups.map(
    ({ heading, rows }) =>
      html`<tbody>
        ${rows.map((row, at) => {
          const first = html`<th scope="rowgroup" rowspan="${rows.length}">${heading}</th>`;
          const cells = row.map((cell, column) => tableCell(columns, cell, column + 1, column === 0));
          return html`<tr>
            ${at === 0 && first}${cells}
          </tr>`;
        })}
      </tbody>`
  );
  return tableFrame(caption, columns, bodies, 'grouped');
}

function tableCell(columns: readonly Column[], cell: Value, at: number, heading: boolean): Html {
  const align = alignment(columns[at]);
  // A heading must have words; a file or a stage may have an empty name.
  return heading
    ? html`<th scope="row" class="${align}">${cell === '' ? '–' : cell}</th>`
    : html`<td class="${align}">${cell}</td>`;
}

function alignment(column: Column | undefined): string {
  return column?.number === true ? 'number' : 'words';
}

function tableFrame(caption: string, columns: readonly Column[], bodies: Value, className: string): Html {
  const heads = columns.map(
    (column) =>
      html`<th scope="col" class="${alignment(column)}">
        ${column.label}${column.note !== undefined && html` <span class="muted">${column.note}</span>`}
      </th>`
  );
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table class="${className}">
      <caption class="visually-hidden">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${heads}
        </tr>
      </thead>
      ${bodies}
    </table>
  </div>`;
}

/** Names and values in a grid. */
export function factList(facts: readonly (readonly [name: Value, value: Value])[]): Html {
  return html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`
    )}
  </dl>`;
}

export type Mark = 'good' | 'bad' | 'warn' | 'none';

const SIGNS: Readonly<Record<Mark, string>> = { good: '✓', bad: '✕', warn: '!', none: '·' };

/** A sign with words beside it, so that colour is never the only carrier. */
export function mark(kind: Mark, words: Value): Html {
  return html`<span class="mark ${kind}"><span class="sign" aria-hidden="true">${SIGNS[kind]}</span> ${words}</span>`;
}

/** A paragraph that says that something is missing, in the place where it would be. */
export function absent(text: Value): Html {
  return html`<p class="absent">${text}</p>`;
}

/** A paragraph that must be read with a number. */
export function notice(text: Value): Html {
  return html`<p class="notice" role="note">${text}</p>`;
}

/** A hash: its beginning, all of it on hover and for copying. */
export function hash(sha256: string): Html {
  return html`<code class="hash" title="${sha256}">${sha256.slice(0, 12)}</code>`;
}
