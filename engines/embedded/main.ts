/**
 * Entry of the engine process: one policy, SGLang's HTTP protocol, and in mode `actor` the training calls. Its only argument is
 * a JSON object (see EngineArgs). Says its port in one JSON line on standard output, logs to standard error, and ends with its owner.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { ComputeThread } from './server/compute-thread.js';
import { type EngineArgs, parseEngineArgs } from './server/engine-args.js';
import { createEngineServer, listen } from './server/engine-server.js';
import type { RouteContext } from './server/route-types.js';
import { servedModel } from './server/served-model.js';
import { dieWithOwner, endGracefully } from './server/shutdown.js';

const log = pino({ name: 'engine' }, pino.destination({ dest: 2, sync: true }));

function exit(reason: string, code: number): never {
  log.info({ reason, code }, 'engine ends');
  process.exit(code);
}

async function main(args: EngineArgs): Promise<void> {
  if (args.owner !== undefined) dieWithOwner(args.owner, (reason) => exit(reason, 0));
  const compute = await ComputeThread.start(args, (error) => exit(`the compute thread failed: ${error.message}`, 1));
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  const context: RouteContext = {
    compute,
    model: await servedModel(args.modelDir, compute.facts),
    mode: args.mode,
    engineVersion: `memagent-embedded-${version}`,
    startedAt: Math.floor(Date.now() / 1000),
    paused: false,
  };
  const server = createEngineServer(context, (path, error) =>
    log.error({ path, error: String(error) }, 'request failed')
  );
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => endGracefully(server, () => exit(signal, 0)));
  const port = await listen(server, args.port);
  log.info({ port, mode: args.mode, model: args.modelDir, ...compute.facts }, 'engine ready');
  process.stdout.write(`${JSON.stringify({ port, pid: process.pid, ...compute.facts })}\n`);
}

/** The starter reads the type and the sentence from the same line that would have held the port. */
function failToStart(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const type = error instanceof PipelineError ? error.type : 'EngineUnavailable';
  log.error({ type, message }, 'engine could not start');
  process.stdout.write(`${JSON.stringify({ error: { type, message } })}\n`, () => process.exit(1));
}

try {
  await main(parseEngineArgs(process.argv[2]));
} catch (error) {
  failToStart(error);
}
