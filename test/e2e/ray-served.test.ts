import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerKind } from '../../engines/serving/server.js';
import { RayJobsClient } from '../../engines/ray/jobs/client.js';
import { liveEngines } from '../../scripts/chaos/engines.js';
import { verifyRun } from '../../shared/artifacts/verify.js';
import type { Progress } from '../../shared/contracts/progress.js';
import type { StoredSummary } from '../../shared/evaluation/types.js';
import { frameworkCheckouts, type Checkout } from '../helpers/framework-checkouts.js';
import { rayEnvironment, startRayHead, type RayHead } from '../helpers/ray-head.js';
import { REAL_SERVERS, realServer } from '../helpers/real-servers.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { rayRecipe } from './ray-support.js';
import { freshTag, start, temporaryRoot, withRealWorkers } from './support.js';

const LIMIT_MS = 900_000;
const ENGINES: ServerKind[] = ['vllm', 'sglang'];
/** Folder in which the runs stay, for whoever wants to look at their reports. */
const KEPT = process.env['MEMAGENT_KEEP_RUNS'];
const ray = await rayEnvironment();
const installed = ENGINES.filter((engine) => realServer(engine) !== undefined);
const canRun = !('missing' in ray) && installed.length > 0;

let folder: Awaited<ReturnType<typeof temporaryRoot>>;
let checkouts: Record<'relax' | 'vime', Checkout>;
let head: RayHead;
let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  if (!canRun) return;
  folder = await temporaryRoot();
  checkouts = await frameworkCheckouts(join(folder.root, 'frameworks'));
  [head, environment] = await Promise.all([startRayHead(ray.venv, 1), localEnvironment()]);
}, LIMIT_MS);
afterAll(async () => {
  await environment?.teardown();
  await head?.stop();
  await folder?.remove();
});

const MODELS = ['base', 'relax', 'vime'];

function read<T>(...path: string[]): T {
  return JSON.parse(readFileSync(join(...path), 'utf8')) as T;
}

describe.each(ENGINES)('jobs on a real Ray cluster, and evaluation by the real %s', (engine) => {
  const serving = realServer(engine);

  it.skipIf(!canRun || serving === undefined)(
    `give a verdict, every file can be verified, and nothing is left running (skipped where there is no Ray, or ${REAL_SERVERS[engine]} names no server)`,
    async () => {
      const root = KEPT ?? join(folder.root, 'runs');
      const [tag, id] = [freshTag(), `ray-${engine}`];
      const directory = join(root, id);
      // A server that is starting takes every core.
      const limits = { heartbeatSeconds: 30 };
      const recipe = rayRecipe(head, checkouts, root, tag, { serving, limits });
      const client = await RayJobsClient.open({ address: head.address });
      try {
        const progress = await withRealWorkers(environment, tag, async () => {
          const handle = await start(environment, recipe, id);
          await handle.result();
          return await handle.query<Progress>('progress');
        });
        expect(progress.attempts).toEqual([]);
        expect(progress.verdict?.outcome).toMatch(/^(not-)?passed$/);
        const report = await verifyRun(directory);
        expect(report.checks.flatMap(({ problems }) => problems)).toEqual([]);
        // The same program in the same way for all, and it says which it is.
        const servers = MODELS.map((name) => read<StoredSummary>(directory, `eval/${name}/dev.summary.json`).server);
        for (const { launch, engine_version: version } of servers) {
          expect(launch).toEqual({ engine, args: serving?.args, env: serving?.env });
          expect(version).toMatch(/^\d+\.\d+/);
          expect(version).toBe(servers[0]?.engine_version);
        }
        const html = readFileSync(join(directory, 'report.html'), 'utf8');
        for (const text of [servers[0]?.engine_version ?? '?', ...(serving?.args ?? [])]) expect(html).toContain(text);
        expect(liveEngines(directory)).toEqual([]);
        const jobs = (await client.list()).filter(({ metadata }) => metadata['memagent.run'] === id);
        expect(jobs.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'SUCCEEDED'));
      } finally {
        await client.close();
      }
    },
    LIMIT_MS
  );
});
