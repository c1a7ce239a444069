// The real worker, except that it dies of one text.
import { parentPort } from 'node:worker_threads';
import '../../../dist/shared/tokenizer/worker.js';

parentPort.on('message', (job) => {
  if (job.text === 'die') process.exit(9);
});
