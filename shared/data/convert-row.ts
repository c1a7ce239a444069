import type { Flavour } from '../contracts/trajectory.js';
import { contextText } from './context-text.js';
import { convertRowVime } from './convert-row-vime.js';
import { pyJsonLoads } from './python/json-loads.js';
import { pyIntOrZero } from './python/integers.js';
import { pyStr } from './python/text.js';
import { pyGet, pyIterate, pyStrip, pyTruthy, type PyDict, type PyValue } from './python/value.js';

/** Why a row has no place in the data set. */
export type NoRowReason = 'no context' | 'no question' | 'no answers';

/** A converted row (a dict to be written as one JSON line), or why there is none. */
export type ConvertedRow = { row: PyDict } | { skipped: NoRowReason };

/**
 * One source row → one data set row, exactly as the reference implementation's converter does it.
 *
 * Three forms are known: evaluation rows (`input`, `answers`), HotpotQA's own rows (`question`, `answer`), and training rows
 * (`prompt`, `reward_model`, `extra_info`).
 *
 * @throws PythonError where the reference raises: a field of a wrong type, a `reward_model` text that is not JSON
 */
export function convertRow(row: PyValue, flavour: Flavour = 'relax'): ConvertedRow {
  return flavour === 'vime' ? convertRowVime(row) : convertRowRelax(row);
}

interface Fields {
  question: string;
  answers: PyValue;
  /** Where `num_docs` is looked for first. */
  extra: PyValue;
}

function convertRowRelax(row: PyValue): ConvertedRow {
  const context = contextText(pyGet(row, 'context', ''));
  if (context === '') return { skipped: 'no context' };
  const { question, answers, extra } = fieldsOf(row);
  const list = typeof answers === 'string' ? [answers] : pyIterate(answers);
  const truth = list.map(pyStr).filter((answer) => pyStrip(answer) !== '');
  if (question === '') return { skipped: 'no question' };
  const [label] = truth;
  if (label === undefined) return { skipped: 'no answers' };

  const metadata: PyDict = new Map();
  metadata.set('question', question);
  metadata.set('context', context);
  metadata.set('ground_truth', truth);
  metadata.set('num_docs', pyIntOrZero(pyGet(extra, 'num_docs', pyGet(row, 'num_docs', 0n))));
  metadata.set('data_source', pyStr(pyGet(row, 'data_source', 'hotpotqa')));
  const converted: PyDict = new Map();
  converted.set('prompt', question);
  converted.set('label', label);
  converted.set('metadata', metadata);
  const id = pyGet(row, 'id', pyGet(row, '_id'));
  if (id !== null) converted.set('_id', pyStr(id));
  return { row: converted };
}

function fieldsOf(row: PyValue): Fields {
  const input = pyGet(row, 'input');
  if (pyTruthy(input)) return { question: pyStrip(pyStr(input)), answers: pyGet(row, 'answers', []), extra: row };
  const question = pyGet(row, 'question');
  const answer = pyGet(row, 'answer');
  if (pyTruthy(question) && answer !== null) {
    return { question: pyStrip(pyStr(question)), answers: [answer], extra: row };
  }
  return trainingFields(row);
}

function trainingFields(row: PyValue): Fields {
  const extra = orEmpty(pyGet(row, 'extra_info'));
  const question = promptText(pyGet(row, 'prompt')) || pyStr(pyGet(extra, 'question', ''));
  let reward = orEmpty(pyGet(row, 'reward_model'));
  if (typeof reward === 'string') reward = pyJsonLoads(reward);
  const answers = pyGet(reward, 'ground_truth', pyGet(row, 'ground_truth', []));
  return { question: pyStrip(question), answers, extra };
}

/** Content of the first message, or of a prompt that is plain text. */
function promptText(prompt: PyValue): string {
  if (typeof prompt === 'string') return prompt;
  if (!Array.isArray(prompt) || prompt.length === 0) return '';
  const first = prompt[0] ?? null;
  return pyStr(first instanceof Map ? pyGet(first, 'content', '') : first);
}

function orEmpty(value: PyValue): PyValue {
  return pyTruthy(value) ? value : new Map<string, PyValue>();
}
