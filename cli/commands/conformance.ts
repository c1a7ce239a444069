import { EXIT } from '../../shared/contracts/user-error.js';
import type { FileResult } from '../../shared/conformance/types.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { cleanLine } from '../terminal/clean-text.js';
import { plural } from '../terminal/units.js';

interface ConformanceOptions {
  json?: boolean;
  differences: string;
}

export function addConformance(context: CommandContext): void {
  const command = context.program
    .command('conformance')
    .description(
      'Runs every case file of a folder against this implementation: one line a file. Exit code 1 if any fails.'
    )
    .argument('<folder>', 'folder with case files')
    .option('--differences <n>', 'differences shown of each file', '5')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent conformance ../shared/cases');
  runs(command, context, (folder: string, options: ConformanceOptions) => conformance(context, folder, options));
}

async function conformance({ terminal }: CommandContext, folder: string, options: ConformanceOptions): Promise<number> {
  const [{ runConformance }, { CHECKERS }, { policyCheckers }] = await Promise.all([
    import('../../shared/conformance/runner.js'),
    import('../../shared/conformance/registry.js'),
    import('../../engines/embedded/conformance/index.js'),
  ]);
  const results = await runConformance(folder, [...CHECKERS, ...policyCheckers()]);
  const failed = results.filter((file) => file.failed > 0);
  if (options.json === true) terminal.out(JSON.stringify(results));
  else {
    const width = Math.max(...results.map((file) => file.file.length));
    for (const file of results) terminal.out(fileLines(file, width, Number(options.differences)));
    const total = results.reduce((sum, file) => sum + file.total, 0);
    const passed = results.reduce((sum, file) => sum + file.passed, 0);
    terminal.out(`${plural(results.length, 'file')}, ${passed} of ${plural(total, 'case')} passed`);
  }
  return failed.length === 0 ? EXIT.ok : EXIT.failed;
}

function fileLines(file: FileResult, width: number, shown: number): string {
  const head = `${file.failed === 0 ? '✔' : '✖'} ${file.file.padEnd(width)}  ${file.passed} passed, ${file.failed} failed`;
  const differences = file.failures.flatMap(({ id, differences: lines }) =>
    lines.map((line) => `    ${cleanLine(id)}: ${cleanLine(line)}`)
  );
  const more = differences.length - shown;
  return [
    head,
    ...differences.slice(0, shown),
    ...(more > 0 ? [`    … and ${plural(more, 'more difference')}`] : []),
  ].join('\n');
}
