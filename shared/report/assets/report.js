/* global document */
// Browser of samples. Everything from the run becomes a text node; no markup is ever built from it.
(() => {
  'use strict';
  const source = document.getElementById('sample-data');
  if (source === null) return;
  const { datasets, colours } = JSON.parse(source.textContent);
  const dataset = document.getElementById('sample-dataset');
  const filter = document.getElementById('sample-filter');
  const search = document.getElementById('sample-search');
  const status = document.getElementById('sample-count');
  const list = document.getElementById('sample-list');
  const PAGE = 15;

  /** An element with a class, attributes and children; strings are text. */
  function make(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    for (const child of children) if (child !== null) element.append(child);
    return element;
  }

  function option(value, label) {
    const element = make('option', '', label);
    element.value = value;
    return element;
  }

  const won = (item, column) => item.x[column] !== null && item.x[column].s === 1;
  const arms = (set) => set.models.map((_, column) => column).filter((column) => set.models[column] !== 'base');

  /** Filters of a data set: which models were right on an item. */
  function filtersOf(set) {
    const columns = arms(set);
    const filters = [{ name: 'all', label: 'all items', test: () => true }];
    const add = (name, label, test) => filters.push({ name, label, test });
    if (columns.length > 1) add('both', 'won by every arm', (item) => columns.every((column) => won(item, column)));
    for (const column of columns) {
      const others = columns.filter((each) => each !== column);
      if (others.length > 0) {
        const test = (item) => won(item, column) && others.every((each) => !won(item, each));
        add(`only-${column}`, `won by ${set.models[column]} only`, test);
      }
    }
    add('none', 'lost by every arm', (item) => columns.every((column) => !won(item, column)));
    const base = set.models.indexOf('base');
    if (base >= 0) {
      add(
        'worse',
        'won by base, lost by an arm',
        (item) => won(item, base) && columns.some((column) => !won(item, column))
      );
      add(
        'better',
        'lost by base, won by an arm',
        (item) => !won(item, base) && columns.some((column) => won(item, column))
      );
    }
    add('cut', 'context truncated', (item) => item.t === 1);
    add('error', 'with a request error', (item) => item.x.some((result) => result !== null && result.e !== undefined));
    return filters
      .map((each) => ({ ...each, count: set.items.filter(each.test).length }))
      .filter((each) => each.count > 0);
  }

  const current = () => datasets[dataset.selectedIndex] ?? datasets[0];

  function fillFilters() {
    const chosen = filter.value;
    const filters = filtersOf(current());
    filter.replaceChildren(...filters.map(({ name, label, count }) => option(name, `${label} (${count})`)));
    if (filters.some(({ name }) => name === chosen)) filter.value = chosen;
  }

  function matches(item, words) {
    if (words.length === 0) return true;
    const texts = [item.q, ...item.a, ...item.x.map((result) => (result === null ? '' : result.p)), `#${item.i}`];
    const all = texts.join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  }

  function show() {
    const set = current();
    const test = (filtersOf(set).find(({ name }) => name === filter.value) ?? { test: () => true }).test;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const items = set.items.filter((item) => test(item) && matches(item, words));
    const some = items.length === 1 ? '1 item' : `${items.length} items`;
    status.textContent = items.length === 0 ? 'No item matches.' : some;
    list.replaceChildren();
    append(set, items, 0);
  }

  function append(set, items, from) {
    const page = items.slice(from, from + PAGE).map((item) => itemElement(set, item));
    list.append(...page);
    const rest = items.length - from - PAGE;
    if (rest <= 0) return;
    const button = make('button', 'more', `Show ${Math.min(PAGE, rest)} more of ${rest}`);
    button.type = 'button';
    button.addEventListener('click', () => {
      button.remove();
      append(set, items, from + PAGE);
      list.children[from + PAGE].querySelector('summary').focus();
    });
    list.append(button);
  }

  function itemElement(set, item) {
    const outcomes = make('span', 'outcomes', ...set.models.map((model, column) => outcome(model, item.x[column])));
    const question = make('span', 'question', item.q === '' ? '(no question)' : item.q);
    const summary = make('summary', '', make('span', 'number', `#${item.i}`), question, outcomes);
    const details = make('details', 'sample', summary);
    details.addEventListener('toggle', () => {
      if (details.open && details.children.length === 1) details.append(itemBody(set, item));
    });
    return details;
  }

  function outcome(model, result) {
    const failed = result !== null && result.e !== undefined;
    const words = result === null ? 'not evaluated' : failed ? 'error' : result.s === 1 ? 'right' : 'wrong';
    const sign = { right: '✓', wrong: '✕', error: '!', 'not evaluated': '·' }[words];
    const hidden = make('span', 'visually-hidden', ` ${words}`);
    const mark = make('span', 'sign', sign);
    mark.setAttribute('aria-hidden', 'true');
    return make('span', `outcome ${words.replace(' ', '-')}`, mark, ` ${model}`, hidden);
  }

  function itemBody(set, item) {
    const facts = [`${item.n} ${item.n === 1 ? 'chunk' : 'chunks'} read`];
    if (item.c > 0) facts.push(`${item.c} tokens of context`);
    if (item.t === 1) facts.push('the context was longer than what was read');
    const head = make(
      'p',
      'expected',
      make('span', 'muted', 'Expected '),
      ...item.a.flatMap((answer, at) => [at > 0 ? ' or ' : null, make('b', 'text', answer)]),
      make('span', 'muted', ` · ${facts.join(' · ')}`)
    );
    const cards = set.models.map((model, column) => resultCard(model, item, item.x[column]));
    return make('div', 'body', head, make('div', 'results', ...cards));
  }

  function resultCard(model, item, result) {
    const title = make('h3', 'model', make('i', `swatch ${colours[model] ?? 'base'}`), model);
    if (result === null) return make('div', 'result', title, make('p', 'muted', 'not evaluated'));
    const card = make('div', 'result', title);
    if (result.e !== undefined)
      card.append(make('p', 'error', make('b', '', 'Request error: '), make('span', 'text', result.e)));
    card.append(
      line('Prediction', result.p === '' ? '(none)' : result.p),
      line('Score', `sub_EM ${result.s} · boxed EM ${result.b} · F1 ${result.f}`),
      line('Response', result.r === '' ? '(empty)' : result.r)
    );
    if (result.m.length > 0) card.append(memoryView(item, result));
    return card;
  }

  function line(label, text) {
    return make('p', 'line', make('span', 'muted', label), make('span', 'text', text));
  }

  /** Memories with repeats filled in, and whether each holds an expected answer. */
  function memorySteps(item, result) {
    const answers = item.a.map((answer) => answer.trim().toLowerCase()).filter(Boolean);
    let text = '';
    return result.m.map((memory, turn) => {
      const same = memory === 0;
      if (!same) text = memory;
      const lower = text.toLowerCase();
      return { turn, text, same, holds: answers.some((answer) => holdsWord(lower, answer)) };
    });
  }

  /** True when the text has the answer not within a longer word or number. */
  function holdsWord(text, answer) {
    const inWord = (character) => character !== undefined && /[\p{L}\p{N}]/u.test(character);
    for (let at = text.indexOf(answer); at >= 0; at = text.indexOf(answer, at + 1)) {
      if (!inWord(text[at - 1]) && !inWord(text[at + answer.length])) return true;
    }
    return false;
  }

  function story(steps) {
    const first = steps.find(({ holds }) => holds);
    if (first === undefined) return 'The memory never held the answer.';
    const lost = steps.filter((step, at) => at > 0 && steps[at - 1].holds && !step.holds).map(({ turn }) => turn + 1);
    const kept = steps[steps.length - 1].holds;
    const entered = `The answer entered the memory at chunk ${first.turn + 1}`;
    if (lost.length === 0) return `${entered} and stayed.`;
    const where = `${lost.length === 1 ? 'chunk' : 'chunks'} ${lost.join(', ')}`;
    return `${entered}, was lost at ${where}${kept ? ' and found again.' : '.'}`;
  }

  function memoryView(item, result) {
    const steps = memorySteps(item, result);
    const strip = make('div', 'strip', ...steps.map(({ holds }) => make('i', holds ? 'cell holds' : 'cell')));
    strip.setAttribute('aria-hidden', 'true');
    const rows = make('ol', 'memories');
    for (let at = 0; at < steps.length; at += 1) {
      const begin = at;
      while (at + 1 < steps.length && steps[at + 1].same) at += 1;
      rows.append(memoryRow(steps[begin], steps[at].turn));
    }
    return make('div', 'memory', make('p', 'story', story(steps)), strip, rows);
  }

  function memoryRow(step, until) {
    const chunks = until === step.turn ? `${step.turn + 1}` : `${step.turn + 1}–${until + 1}`;
    const text = make('span', 'text', step.text === '' ? '(empty)' : step.text);
    return make('li', step.holds ? 'holds' : '', make('span', 'number', chunks), text);
  }

  dataset.replaceChildren(...datasets.map(({ name, label }) => option(name, label)));
  dataset.addEventListener('change', () => {
    fillFilters();
    show();
  });
  filter.addEventListener('change', show);
  search.addEventListener('input', show);
  const controls = document.getElementById('sample-controls');
  controls.addEventListener('submit', (event) => event.preventDefault());
  controls.hidden = false;
  document.getElementById('sample-fallback').remove();
  fillFilters();
  show();
})();
