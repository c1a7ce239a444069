/** Entry of the second thread: waits for jobs, does them with a model and a generator of its own. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { createModel, refreshWeights } from '../model/model.js';
import { BatchGenerator } from '../sample/generator.js';
import { scorePack } from '../train/scoring.js';
import { advanceBy } from './advance-by.js';
import type { Generated, GenerateJob, GivenJob, JobEnd, ScoreJob } from './jobs.js';
import { DONE, GIVEN, SECOND_LANE, type SecondThreadData } from './thread.js';

const data = workerData as SecondThreadData;
const { config, limits, signal, parameters, gradient, port } = data;
const model = await createModel(config, limits, data.kernels);
const generator = new BatchGenerator(model, limits);
const lane = model.gradients[SECOND_LANE]!;

function run({ job, newWeights }: GivenJob): Generated | null {
  if (newWeights) {
    model.kernels.heap.set(parameters, model.parameters.start);
    refreshWeights(model);
  }
  if (job.kind === 'generate') return generate(job);
  score(job);
  return null;
}

function score({ packs, temperature, gradients, scores }: ScoreJob): void {
  const { heap } = model.kernels;
  if (gradients) heap.fill(0, lane, lane + model.parameters.length);
  for (const { rows, token } of packs)
    scorePack(model, rows, temperature, gradients ? SECOND_LANE : null, scores, token);
  if (gradients) gradient.set(heap.subarray(lane, lane + model.parameters.length));
}

function generate({ submitted, aborted, flush, steps, streams }: GenerateJob): Generated {
  if (flush) generator.flush();
  for (const request of submitted) generator.submit(request);
  for (const id of aborted) generator.abort(id);
  const tokens: Generated['tokens'] = [];
  const results = advanceBy(generator, steps, streams ? (...token) => tokens.push(token) : undefined);
  return { results, tokens };
}

parentPort?.postMessage('ready');
for (let done = 0; ;) {
  // Returns at once when a job was given since.
  Atomics.wait(signal, GIVEN, done);
  const given = receiveMessageOnPort(port)?.message as GivenJob | undefined;
  if (given === undefined) continue;
  let end: JobEnd;
  try {
    end = { value: run(given) };
  } catch (error) {
    end = { failure: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(end);
  done += 1;
  Atomics.store(signal, DONE, done);
  Atomics.notify(signal, DONE);
}
