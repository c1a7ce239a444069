/** Entry of a tokenizer's worker thread: one job in, one reply out. */
import { parentPort, workerData } from 'node:worker_threads';
import { PipelineError } from '../contracts/pipeline-error.js';
import { chunkContext } from '../memory/chunking.js';
import { truncateToTokens } from '../memory/truncate.js';
import type { PoolJob, WorkerData, WorkerReply } from './pool-jobs.js';
import { loadTokenizer } from './tokenizer.js';

const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread, it cannot be run by itself');

const { directory } = workerData as WorkerData;

async function perform(job: PoolJob): Promise<unknown> {
  const tokenizer = await loadTokenizer(directory);
  switch (job.kind) {
    case 'encode':
      // A typed array is moved to the other thread, a list would be copied number by number.
      return Uint32Array.from(tokenizer.encode(job.text, job.limit));
    case 'chunk':
      return chunkContext(tokenizer, job.context, job);
    case 'truncate':
      return truncateToTokens(tokenizer, job.text, job.maxTokens);
  }
}

function failure(error: unknown): WorkerReply {
  if (error instanceof PipelineError)
    return { ok: false, message: error.message, type: error.type, details: error.details };
  return { ok: false, message: error instanceof Error ? error.message : String(error) };
}

port.on('message', (job: PoolJob) => {
  perform(job).then(
    (result) => {
      const reply: WorkerReply = { ok: true, result };
      port.postMessage(reply, result instanceof Uint32Array ? [result.buffer as ArrayBuffer] : []);
    },
    (error: unknown) => port.postMessage(failure(error))
  );
});
