import { InvalidArgumentError } from 'commander';
import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import type { AcceptanceMetric } from '../../shared/scoring/verdict.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { verdictCode } from '../outcome.js';
import { comparisonInput } from '../compare/comparison-input.js';
import { verdictTable } from '../compare/verdict-table.js';

const METRICS: readonly AcceptanceMetric[] = ['sub_em', 'boxed_em', 'em', 'f1'];

interface CompareOptions {
  base?: string[];
  metric: AcceptanceMetric;
  tolerance: number;
  lengths?: number[];
  dev?: string;
  out?: string;
  json?: boolean;
}

export function addCompare(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('compare')
    .description(
      'Judges evaluations by the acceptance rule: trained arms against each other and against the frozen base.'
    )
    .argument(
      '<arm...>',
      'summary file, or folder of them, of a trained arm; NAME=PATH names it (repeat for more files)'
    )
    .option('--base <path...>', 'summary files or folder of the frozen base; without it only the arms are compared')
    .option('--metric <metric>', `score of the lengths: ${METRICS.join(', ')}`, metric, 'sub_em')
    .option('--tolerance <points>', 'largest difference of two arms, percentage points', points, 3)
    .option('--lengths <list>', 'lengths that must be there, e.g. 50,200,800 (default: those of the files)', lengthList)
    .option('--dev <name>', 'name of the development set, which is judged by boxed EM (default: the one called dev)')
    .option('--out <file>', 'write the verdict as JSON')
    .option(...JSON_OPTION);
  withExamples(
    command,
    'memagent compare runs/my-run/eval/vime runs/my-run/eval/relax --base runs/my-run/eval/base',
    'memagent compare vime=a/eval_200.summary.json relax=b/eval_200.summary.json'
  );
  command.addHelpText(
    'after',
    '\nExit codes: 0 passed, 1 not passed, 2 not comparable (every reason is listed) or wrong use.'
  );
  runs(command, context, async (arms: string[], options: CompareOptions) => {
    const { judge } = await import('../../shared/scoring/verdict.js');
    const verdict = judge(await comparisonInput(arms, options));
    const text = `${JSON.stringify(verdict, null, 2)}\n`;
    if (options.out !== undefined) await writeFileAtomic(options.out, text);
    terminal.out(options.json === true ? text.trimEnd() : verdictTable(verdict));
    return verdictCode(verdict);
  });
}

function metric(value: string): AcceptanceMetric {
  const known = METRICS.find((each) => each === value);
  if (known === undefined) throw new InvalidArgumentError(`expected one of ${METRICS.join(', ')}`);
  return known;
}

function points(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !(number >= 0)) throw new InvalidArgumentError('expected percentage points ≥ 0');
  return number;
}

function lengthList(value: string): number[] {
  const numbers = value.split(',').map(Number);
  if (!numbers.every((number) => Number.isInteger(number) && number > 0))
    throw new InvalidArgumentError('expected whole numbers, e.g. 50,200,800');
  return numbers;
}
