import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readdir, stat } from 'node:fs/promises';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Flavour } from '../../../shared/contracts/trajectory.js';
import { printable } from '../../../shared/inference/printable.js';
import { startGuarded } from '../../../shared/runtime/guarded-process.js';
import { lastLines } from '../../../shared/runtime/log-tail.js';

/** Where each framework keeps its converter of Megatron's torch_dist checkpoints to Hugging Face files, and what it takes. */
const CONVERTERS: Readonly<Record<Flavour, string>> = {
  relax: 'scripts/tools/convert_torch_dist_to_hf_bridge.py',
  vime: 'tools/convert_torch_dist_to_hf_bridge.py',
};

export interface Conversion {
  flavour: Flavour;
  /** Folder of the framework's checkout. */
  framework: string;
  python: string;
  /** More environment variables. */
  env: Readonly<Record<string, string>>;
  /** The checkpoint, `…/iter_%07d`. */
  checkpointDir: string;
  /** Made by the converter; must not be there. */
  outputDir: string;
  /** Hugging Face folder of the base. */
  baseDir: string;
  logFile: string;
}

/** Program and arguments; the same flags in both frameworks. */
export function converterCommand(conversion: Conversion): [string, ...string[]] {
  const { python, framework, flavour, checkpointDir, outputDir, baseDir } = conversion;
  const script = join(framework, CONVERTERS[flavour]);
  return [python, script, '--input-dir', checkpointDir, '--output-dir', outputDir, '--origin-hf-dir', baseDir];
}

/** Time between looks at what was written. Unit: milliseconds. */
const LOOK_MS = 500;
const STOP_MS = 5_000;
const SHOWN_LINES = 12;
const KILLED = 137;

/**
 * Runs a framework's converter as a program of its own, which never outlives this process.
 *
 * @param onBytes told the size of what was written so far, whenever it has grown
 * @throws PipelineError CheckpointInvalid with the end of its log when it fails or writes nothing, OutOfMemory when it was killed for
 *   want of memory; the signal's reason when it is aborted
 */
export async function runConverter(
  conversion: Conversion,
  signal: AbortSignal,
  onBytes: (bytes: number) => void
): Promise<void> {
  signal.throwIfAborted();
  const { framework, outputDir, logFile } = conversion;
  const [program, ...args] = converterCommand(conversion);
  const path = [framework, process.env['PYTHONPATH']].filter((each) => each !== undefined && each !== '').join(':');
  const env = { ...process.env, PYTHONPATH: path, ...conversion.env };
  const converter = startGuarded(program, args, { env, cwd: framework, logFile });
  try {
    for (let seen = -1; converter.exitCode() === undefined;) {
      signal.throwIfAborted();
      const bytes = await bytesIn(outputDir);
      if (bytes !== seen) onBytes((seen = bytes));
      await Promise.race([delay(LOOK_MS), converter.ended]);
    }
  } finally {
    await converter.stop(STOP_MS);
  }
  const code = converter.exitCode();
  if (code !== 0) throw await failure(conversion, `ended with exit code ${code}`, code);
  if ((await bytesIn(outputDir)) === 0) throw await failure(conversion, 'ended well, but wrote no file', code);
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const sizes = names.map((name) =>
    stat(join(folder, name))
      .then(({ size }) => size)
      .catch(() => 0)
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function failure(conversion: Conversion, how: string, code: number | undefined): Promise<PipelineError> {
  const { logFile, flavour } = conversion;
  const lines = (await lastLines(logFile).catch(() => [])).map((line) => printable(line, 300).trim());
  const shown = lines.filter((line) => line !== '').slice(-SHOWN_LINES);
  const command = converterCommand(conversion).join(' ');
  const message = `the converter of ${flavour} ${how}; its log is ${logFile}${shown.length === 0 ? '' : `, which ends:\n${shown.join('\n')}`}`;
  const memory = code === KILLED || /out of memory|MemoryError|Cannot allocate memory/i.test(shown.join('\n'));
  return new PipelineError(memory ? 'OutOfMemory' : 'CheckpointInvalid', message, {
    where: logFile,
    problems: shown,
    cure: `Correct the cause, try it by hand (${command}), then \`memagent decide RUN --action retry\`.`,
  });
}
