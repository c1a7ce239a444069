import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../../shared/artifacts/atomic-file.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { screenPrompts, writeScreening } from '../../shared/evaluation/screen-splits.js';
import type { StoredSummary } from '../../shared/evaluation/types.js';
import type { CommandContext } from '../command.js';
import type { ScreenOptions } from '../commands/data.js';

/** @returns 0; the splits and their manifest are written together or, when too few prompts are usable, not at all */
export async function screenData(
  { terminal }: CommandContext,
  samples: string,
  options: ScreenOptions
): Promise<number> {
  const summaryPath = samples.replace(/\.jsonl$/, '.summary.json');
  const summary = JSON.parse(await readFile(summaryPath, 'utf8').catch(missing(summaryPath))) as StoredSummary;
  const [source, tries] = [await hashOf(options.data), await hashOf(samples)];
  refuseOthers(summary, { data: source, samples: tries, dataPath: options.data, samplesPath: samples });
  const screening = await screenPrompts({
    dataPath: options.data,
    triesPath: samples,
    summary,
    wish: { train: options.train, heldOut: options.heldOut },
  });
  const path = join(options.out, 'screening.json');
  const manifest = await writeScreening(screening, options.out, path);
  if (options.json === true) terminal.out(JSON.stringify({ manifest: path, ...manifest }));
  else {
    terminal.out(`prompts by successes of ${summary.sampling_count}: ${manifest.prompts_by_successes.join(' ')}`);
    terminal.out(
      `train.jsonl: ${manifest.splits.train.items.length} prompts, heldout.jsonl: ${manifest.splits.heldOut.items.length}, of ${manifest.usable} usable`
    );
    terminal.out(`${path}: ${manifest.note}`);
  }
  return EXIT.ok;
}

function missing(path: string): () => never {
  return () => {
    throw new UserError(`cannot read ${path}`, {
      cure: 'Give the samples file of `memagent eval --samples-per-item 8`; its summary lies beside it.',
      exitCode: EXIT.usage,
    });
  };
}

async function hashOf(path: string): Promise<string> {
  return (await hashFile(path).catch(missing(path))).sha256;
}

interface Given {
  data: string;
  samples: string;
  dataPath: string;
  samplesPath: string;
}

/** Tries of other data, or of a changed file, would choose the wrong prompts without anybody noticing. */
function refuseOthers(summary: StoredSummary, given: Given): void {
  const problems = [
    ...(summary.sampling_count > 1 ? [] : ['one try a prompt tells nothing: evaluate with --samples-per-item 8']),
    ...(summary.errors === 0 ? [] : [`${summary.errors} samples still have request errors`]),
    ...(summary.data_sha256 === given.data ? [] : [`${given.dataPath} is not the file that was evaluated`]),
    ...(summary.samples_sha256 === given.samples ? [] : [`${given.samplesPath} was changed after its evaluation`]),
  ];
  if (problems.length > 0)
    throw new UserError('these samples cannot choose prompts', {
      problems,
      cure: 'Evaluate the base model on this very file, converted by `memagent data convert`, and finish the evaluation.',
    });
}
