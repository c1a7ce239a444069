import { readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FailureDetails, FailureType } from '../contracts/failures.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import { entryPath } from '../runtime/entry.js';
import {
  convertFile,
  type ConvertedFile,
  type ConvertOptions,
  type ConvertPorts,
  type ConvertProgress,
} from './convert-file.js';

/** Sources up to this size are converted on the calling thread: a worker would take longer to start. */
export const INLINE_BYTES = 2 * 1024 * 1024;

export type WorkerMessage =
  | { kind: 'progress'; progress: ConvertProgress }
  | { kind: 'done'; result: ConvertedFile }
  | { kind: 'failed'; type: FailureType; message: string; details: FailureDetails };

/**
 * {@link convertFile}, in a worker thread when the source is large: parsing and hashing never hold the event loop, which
 * sends heartbeats. Needs the compiled package for large sources.
 *
 * @throws as convertFile; an Error that says "run make build" when the package is not compiled
 */
export async function convertOffThread(options: ConvertOptions, ports: ConvertPorts = {}): Promise<ConvertedFile> {
  const size = await stat(options.source).then(
    (facts) => facts.size,
    () => 0
  );
  if (size <= INLINE_BYTES) return convertFile(options, ports);
  ports.signal?.throwIfAborted();
  const worker = new Worker(entryPath('shared/data/convert-worker.js'), { workerData: options });
  const abort = (): void => void worker.terminate();
  ports.signal?.addEventListener('abort', abort, { once: true });
  try {
    return await resultOf(worker, ports);
  } finally {
    ports.signal?.removeEventListener('abort', abort);
    await worker.terminate();
    if (ports.signal?.aborted) await removePartials(options.output);
  }
}

function resultOf(worker: Worker, ports: ConvertPorts): Promise<ConvertedFile> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: WorkerMessage) => {
      if (message.kind === 'progress') ports.onProgress?.(message.progress);
      else if (message.kind === 'done') resolve(message.result);
      else reject(new PipelineError(message.type, message.message, message.details));
    });
    worker.on('error', (error) => reject(failureOf(error)));
    worker.on('exit', (code) => {
      reject(ports.signal?.aborted ? ports.signal.reason : new Error(`the converter's thread ended with code ${code}`));
    });
  });
}

function failureOf(error: Error): Error {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new PipelineError(
    'OutOfMemory',
    `converting a data file ran out of memory: ${error.message}`,
    {},
    { cause: error }
  );
}

/** A terminated thread could not tidy up. */
async function removePartials(output: string): Promise<void> {
  const prefix = `${basename(output)}.partial-${process.pid}-`;
  const names = await readdir(dirname(output)).catch(() => []);
  for (const name of names) if (name.startsWith(prefix)) await rm(join(dirname(output), name), { force: true });
}
