import { basename } from 'node:path';
import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { convertOffThread } from '../../shared/data/convert-off-thread.js';
import { dataArtifact, manifestText } from '../../shared/data/data-manifest.js';
import { describeSkipped } from '../../shared/data/skip-report.js';
import type { CommandContext } from '../command.js';
import type { ConvertOptions } from '../commands/data.js';
import { openSource } from '../data-source.js';
import { forPerson } from '../for-person.js';
import { createTicker } from '../progress/ticker.js';
import { cleanLine } from '../terminal/clean-text.js';
import { bytes, plural } from '../terminal/units.js';

/** Skipped rows that are printed; the manifest has more. */
const SHOWN_ROWS = 10;

/** @returns 0, also when rows were skipped: each is counted with its reason; 130 when interrupted, and then nothing is written */
export async function convertData(context: CommandContext, path: string, options: ConvertOptions): Promise<number> {
  const { terminal } = context;
  const { out, flavour, limit } = options;
  const manifest = `${out}.manifest.json`;
  const source = await openSource(path, [out, manifest]);
  const signal = terminal.handleInterrupts();
  const ticker = await createTicker(terminal, options.json === true);
  try {
    const converted = await convertOffThread(
      { source: path, output: out, flavour, ...(limit === undefined ? {} : { limit }) },
      {
        signal,
        onProgress: ({ rowsRead, bytesRead, bytesTotal }) =>
          ticker.show(`${plural(rowsRead, 'row')}, ${bytes(bytesRead)} of ${bytes(bytesTotal)}`),
      }
    );
    ticker.end();
    const name = basename(path);
    const hashed = { ...source, name: basename(out), filename: name, repoId: null, revision: null };
    const artifact = dataArtifact(hashed, basename(out), converted, limit, flavour);
    await writeFileAtomic(manifest, manifestText([artifact], null));
    if (options.json === true) terminal.out(JSON.stringify({ out, manifest, ...artifact }));
    else {
      terminal.out(
        `${out}: ${plural(converted.written, 'row')} of ${converted.rowsRead} read, SHA-256 ${converted.sha256}`
      );
      terminal.out(`${manifest}: source ${name}, ${bytes(source.bytes)}, SHA-256 ${source.sha256}`);
      if (converted.skipped.total > 0) {
        terminal.err(`skipped: ${plural(converted.skipped.total, 'row')}`);
        const lines = describeSkipped(converted.skipped).slice(0, SHOWN_ROWS);
        for (const line of lines) terminal.err(`  - ${cleanLine(line)}`);
      }
    }
    return EXIT.ok;
  } catch (error) {
    ticker.end();
    if (!signal.aborted) throw forPerson(error, { DataInvalid: 'Check the source.' });
    terminal.err('interrupted: nothing was written');
    return EXIT.interrupted;
  }
}
