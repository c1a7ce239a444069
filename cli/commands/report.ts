import { join } from 'node:path';
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
    const { renderReport } = await import('../../shared/report/report.js');
    const directory = runDirectory(run);
    const path = options.out ?? join(directory, 'report.html');
    await writeFileAtomic(path, await renderReport(directory));
    terminal.out(options.json === true ? JSON.stringify({ report: path }) : path);
    return EXIT.ok;
  });
}
