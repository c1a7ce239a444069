import { parentPort, workerData } from 'node:worker_threads';
import { PipelineError } from '../contracts/pipeline-error.js';
import { convertFile, type ConvertOptions } from './convert-file.js';
import type { WorkerMessage } from './convert-off-thread.js';

/** Worker thread: converts one file and posts progress and the result. */
async function main(): Promise<void> {
  const post = (message: WorkerMessage): void => parentPort?.postMessage(message);
  try {
    const result = await convertFile(workerData as ConvertOptions, {
      onProgress: (progress) => post({ kind: 'progress', progress }),
    });
    post({ kind: 'done', result });
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    // Classes do not survive the way between threads.
    post({ kind: 'failed', type: error.type, message: error.message, details: error.details });
  }
}

await main();
