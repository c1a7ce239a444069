/** Entry of the second thread: waits for jobs, computes their packs into its own gradient lane. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { createModel, refreshWeights } from '../model/model.js';
import { DONE, GIVEN, SECOND_LANE, type SecondThreadData, type SecondThreadJob } from './second-thread.js';
import { scorePack } from './scoring.js';

const data = workerData as SecondThreadData;
const { config, maxSequence, signal, parameters, gradient, port } = data;
// It never generates: no key/value cache beyond that of a row being computed.
const model = await createModel(config, { maxSequence, maxBatch: 1, slots: 0 }, data.kernels);
const lane = model.gradients[SECOND_LANE]!;

function run({ packs, temperature, gradients, newWeights, scores }: SecondThreadJob): void {
  const { heap } = model.kernels;
  if (newWeights) {
    heap.set(parameters, model.parameters.start);
    refreshWeights(model);
  }
  if (gradients) heap.fill(0, lane, lane + model.parameters.length);
  for (const { rows, token } of packs)
    scorePack(model, rows, temperature, gradients ? SECOND_LANE : null, scores, token);
  if (gradients) gradient.set(heap.subarray(lane, lane + model.parameters.length));
}

parentPort?.postMessage('ready');
for (let done = 0; ;) {
  // Returns at once when a job was given since.
  Atomics.wait(signal, GIVEN, done);
  const job = receiveMessageOnPort(port)?.message as SecondThreadJob | undefined;
  if (job === undefined) continue;
  try {
    run(job);
  } catch (error) {
    port.postMessage(error instanceof Error ? error.message : String(error));
  }
  done += 1;
  Atomics.store(signal, DONE, done);
  Atomics.notify(signal, DONE);
}
