import type { ConvertedRow } from './convert-row.js';
import { pyJsonLoads } from './python/json-loads.js';
import { pyStr } from './python/text.js';
import { pyGet, pyIndex, pyTruthy, type PyDict, type PyValue } from './python/value.js';

interface VimeFields {
  question: PyValue;
  answers: PyValue;
  /** Looked up last, as in vime: a wrong `extra_info` of a row without an answer is no error. */
  numDocs: () => PyValue;
  dataSource: PyValue;
}

/**
 * vime's converter: nothing is trimmed or turned into text, blank answers stay, `metadata` has no `question`, and HotpotQA's
 * own row form is not known.
 *
 * @throws PythonError where vime's code raises
 */
export function convertRowVime(row: PyValue): ConvertedRow {
  const context = pyGet(row, 'context', '');
  if (!pyTruthy(context)) return { skipped: 'no context' };
  const evaluation = row instanceof Map && row.has('input');
  const question = evaluation ? pyGet(row, 'input') : promptOf(row);
  if (!evaluation && !pyTruthy(question)) return { skipped: 'no question' };
  const fields = evaluation ? evaluationFields(row, question) : trainingFields(row, question);
  const label = pyTruthy(fields.answers) ? pyIndex(fields.answers, 0) : '';
  if (!pyTruthy(question)) return { skipped: 'no question' };
  if (!pyTruthy(label)) return { skipped: 'no answers' };
  const metadata: PyDict = new Map([
    ['context', context],
    ['ground_truth', fields.answers],
    ['num_docs', fields.numDocs()],
    ['data_source', fields.dataSource],
  ]);
  const converted: PyDict = new Map();
  converted.set('prompt', question);
  converted.set('label', label);
  converted.set('metadata', metadata);
  return { row: converted };
}

function evaluationFields(row: PyValue, question: PyValue): VimeFields {
  return {
    question,
    answers: listed(pyGet(row, 'answers', [])),
    numDocs: () => pyGet(row, 'num_docs', 0n),
    dataSource: 'hotpotqa',
  };
}

function trainingFields(row: PyValue, question: PyValue): VimeFields {
  const reward = rewardOf(pyGet(row, 'reward_model', new Map()));
  const extra = pyGet(row, 'extra_info', new Map());
  return {
    question,
    answers: listed(pyGet(reward, 'ground_truth', [])),
    numDocs: () => pyGet(pyTruthy(extra) ? extra : new Map<string, PyValue>(), 'num_docs', 0n),
    dataSource: pyGet(row, 'data_source', 'hotpotqa'),
  };
}

function promptOf(row: PyValue): PyValue {
  const prompt = pyGet(row, 'prompt', []);
  if (Array.isArray(prompt) && prompt.length > 0) {
    const first = prompt[0] ?? null;
    return first instanceof Map ? pyGet(first, 'content', '') : pyStr(first);
  }
  if (typeof prompt === 'string') return prompt;
  return pyGet(pyGet(row, 'extra_info', new Map()), 'question', '');
}

/** A text that is not JSON counts as an empty reward model. */
function rewardOf(reward: PyValue): PyValue {
  if (typeof reward !== 'string') return reward;
  try {
    return pyJsonLoads(reward);
  } catch {
    return new Map<string, PyValue>();
  }
}

function listed(answers: PyValue): PyValue {
  return typeof answers === 'string' ? [answers] : answers;
}
