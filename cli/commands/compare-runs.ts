import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { runDirectory } from '../run-directory.js';

interface CompareRunsOptions {
  html?: string;
  json?: boolean;
}

export function addCompareRuns(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('compare-runs')
    .description(
      'Sets runs side by side: recipes, reward curves, evaluations with intervals, verdicts, time. As Markdown.'
    )
    .argument('<run...>', 'run directories, or ids of runs in ./runs; two at least')
    .option('--html <file>', 'also write it as one self-contained page with charts')
    .option(...JSON_OPTION);
  withExamples(
    command,
    'memagent compare-runs laptop-1a2b3c4d laptop-5e6f7a8b --html compared.html',
    'memagent compare-runs /data/runs/a /data/runs/b /data/runs/c > compared.md'
  );
  runs(command, context, async (given: string[], options: CompareRunsOptions) => {
    if (given.length < 2)
      throw new UserError('one run has nothing to be compared with', {
        cure: 'Name two runs or more; `memagent report <run>` shows a single one.',
        exitCode: EXIT.usage,
      });
    const { loadRun } = await import('../../shared/report/load-run.js');
    const loaded = [];
    for (const run of given) loaded.push(await loadRun(runDirectory(run)));
    if (options.html !== undefined) {
      const { renderRunComparison } = await import('../../shared/report/compare-runs/compare-runs.js');
      await writeFileAtomic(options.html, renderRunComparison(loaded));
      terminal.err(`written: ${options.html}`);
    }
    if (options.json === true) {
      const { comparisonFacts } = await import('../../shared/report/compare-runs/facts.js');
      terminal.out(JSON.stringify(comparisonFacts(loaded)));
    } else {
      const { runComparisonMarkdown } = await import('../../shared/report/compare-runs/markdown.js');
      terminal.out(runComparisonMarkdown(loaded).trimEnd());
    }
    return EXIT.ok;
  });
}
