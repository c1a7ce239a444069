/** Entry of the compute thread: owns the policy, advances the running batch, runs calls between two tokens. */
import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { Actor } from '../actor/actor.js';
import { ComputeLoop } from './compute-loop.js';
import type { ComputeWorkerData, FromCompute, ToCompute } from './messages.js';

const data = workerData as ComputeWorkerData;
const port = parentPort as MessagePort;
const wake = new Int32Array(data.wake);

function post(message: FromCompute): void {
  port.postMessage(message);
}

try {
  const actor = await Actor.load(data);
  post({ type: 'ready', facts: actor.facts, weightVersion: actor.weightVersion });
  const loop = new ComputeLoop(actor, post, () => receiveMessageOnPort(port)?.message as ToCompute | undefined);
  for (;;) {
    const seen = Atomics.load(wake, 0);
    // Sleeps until the next message; one that came since `seen` was read makes it return at once.
    if (!(await loop.step())) Atomics.wait(wake, 0, seen);
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  post({ type: 'failed', message, ...(error instanceof PipelineError ? { failureType: error.type } : {}) });
}
