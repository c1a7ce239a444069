import { trainingData } from '../shared/artifacts/training-data.js';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runPreflight } from '../engines/ray/preflight/run-preflight.js';
import { isOver } from '../engines/ray/jobs/job-info.js';
import type { PreflightFacts } from '../engines/ray/preflight/preflight-job.js';
import type { ArmHandle } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { armPaths, enginePath } from './paths.js';
import type { ActivityPorts, RunFiles } from './ports.js';
import { openClient } from './ray-client.js';
import { modelFolder } from './model-folder.js';
import type { ModelFile } from './resolve.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';

/**
 * Looks at the cluster before an arm's first job: framework commit, model, data, GPUs, disk, ports, shared storage on every
 * node. Once a job was started it is that job's business: it holds the GPUs, and a worker that takes it over must not fail here.
 *
 * @throws PipelineError PinMismatch with every problem
 */
export async function preflight(args: ArmHandle, scope: ActivityScope, ports: ActivityPorts): Promise<void> {
  const run = await openRun(args.run);
  const started = (['smoke', 'train'] as const).some((phase) => existsSync(run.path(armPaths(args.arm, phase).job)));
  if (started) return;
  const facts = await factsOf(run, args, ports, scope.signal);
  scope.report({ phase: 'preflight', step: 0 });
  const client = await openClient(run.recipe);
  try {
    const { problems, busy } = await runPreflight(client, run.recipe, args.arm, facts, scope.signal);
    // What a job has taken is waited for; what nobody's job has taken will not become free by itself.
    const jobs = busy.length === 0 ? [] : await client.list(scope.signal);
    if (!jobs.some(({ status }) => !isOver(status))) problems.push(...busy);
    if (problems.length > 0) throw preflightFailure(args.arm, client.address, problems);
  } finally {
    await client.close();
  }
}

/** The failure that lists everything that a preflight found. */
export function preflightFailure(arm: string, address: string, problems: string[]): PipelineError {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const list = problems.map((problem) => `\n  - ${problem}`).join('');
  return new PipelineError('PinMismatch', `the cluster at ${address} is not what arm ${arm} needs: ${count}:${list}`, {
    problems,
    where: address,
    cure: 'Correct every problem on the cluster or in the recipe; `memagent launch --preflight` looks again without a run.',
  });
}

async function factsOf(
  run: RunFiles,
  { arm, phase }: ArmHandle,
  ports: ActivityPorts,
  signal: AbortSignal
): Promise<PreflightFacts> {
  const { files } = await run.readJson<{ files: ModelFile[] }>('model.json');
  const data = await run.expect(trainingData(run.recipe));
  const folder = run.path(enginePath(`preflight-${arm}`));
  // An attempt that was given up, and still runs, removes its own marker and no other's.
  const text = randomUUID();
  return {
    modelDir: await modelFolder(run.recipe, ports.projectRoot, { signal }),
    modelFiles: files,
    trainData: { name: run.path(trainingData(run.recipe)), bytes: data.bytes, sha256: data.sha256 },
    saveDir: run.path(armPaths(arm, phase).checkpoints),
    marker: { path: join(folder, `seen-from-here-${text}`), text },
  };
}
