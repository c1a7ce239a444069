import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { storageError, writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { buildLengths } from '../../shared/data/build-lengths.js';
import { lengthsManifest } from '../../shared/data/lengths-manifest.js';
import { describeSkipped } from '../../shared/data/skip-report.js';
import type { CommandContext } from '../command.js';
import type { LengthsOptions } from '../commands/data.js';
import { openSource } from '../data-source.js';
import { forPerson } from '../for-person.js';
import { createTicker } from '../progress/ticker.js';
import { cleanLine } from '../terminal/clean-text.js';
import { bytes, plural } from '../terminal/units.js';

/** Skipped rows that are printed; the manifest has more. */
const SHOWN_ROWS = 10;

/** @returns 0; 130 when interrupted: lengths that were finished before stay */
export async function buildLengthFiles(
  context: CommandContext,
  path: string,
  options: LengthsOptions
): Promise<number> {
  const { terminal } = context;
  const { documents, out, seed, items } = options;
  const source = await openSource(
    path,
    documents.map((count) => join(out, `eval_${count}.json`))
  );
  await mkdir(out, { recursive: true }).catch((error: unknown) => Promise.reject(storageError(out, error)));
  const signal = terminal.handleInterrupts();
  const ticker = await createTicker(terminal, options.json === true);
  try {
    const built = await buildLengths({
      source: path,
      folder: out,
      lengths: documents,
      seed,
      signal,
      allowRepeats: options.allowRepeats === true,
      onProgress: ({ length, done, total }) => ticker.show(`eval_${length}.json: ${done}/${total} items`),
      ...(items === undefined ? {} : { items }),
    });
    ticker.end();
    const manifest = lengthsManifest(source, seed, built);
    const manifestPath = join(out, 'lengths.manifest.json');
    await writeFileAtomic(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
    if (options.json === true) {
      terminal.out(JSON.stringify({ manifest: manifestPath, ...manifest }));
      return EXIT.ok;
    }
    for (const file of built.files)
      terminal.out(
        `${file.path}: ${plural(file.rows, 'item')} of ${plural(file.length, 'document')}, ${bytes(file.bytes)}, SHA-256 ${file.sha256}${file.repeatedDocuments > 0 ? `, ${plural(file.repeatedDocuments, 'repeated document')}` : ''}`
      );
    terminal.out(`${manifestPath}: seed ${seed}, source SHA-256 ${source.sha256}`);
    for (const line of describeSkipped(built.skipped).slice(0, SHOWN_ROWS)) terminal.err(`  - ${cleanLine(line)}`);
    return EXIT.ok;
  } catch (error) {
    ticker.end();
    if (!signal.aborted)
      throw forPerson(error, {
        RecipeInvalid: 'Give larger numbers to --documents.',
        DataInvalid: 'Check the source.',
      });
    terminal.err('interrupted: files that were finished stay; the same command makes the others');
    return EXIT.interrupted;
  }
}
