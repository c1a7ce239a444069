import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { runDirectory } from '../run-directory.js';

export function addReport(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('report')
    .description('Makes the report of a run from its files, without a server, and prints its path.')
    .argument('<run>', 'run directory, or id of a run in ./runs')
    .option('--out <file>', 'where to write it (default: report.html in the run’s directory)')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent report laptop-1a2b3c4d', 'memagent report /data/runs/my-run --out /tmp/report.html');
  runs(command, context, async (run: string, options: { out?: string; json?: boolean }) => {
    const path = await writeReport(runDirectory(run), options.out);
    terminal.out(options.json === true ? JSON.stringify({ report: path }) : path);
    return EXIT.ok;
  });
}

async function writeReport(directory: string, out: string | undefined): Promise<string> {
  if (out === undefined) {
    const { rewriteReport } = await import('../../shared/report/rewrite-report.js');
    return await rewriteReport(directory);
  }
  const { renderReport } = await import('../../shared/report/report.js');
  await writeFileAtomic(out, await renderReport(directory));
  return out;
}
