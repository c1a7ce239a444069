import { cp, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { createActivities } from '../../activities/index.js';
import { hfPath } from '../../activities/paths.js';
import { openRun } from '../../activities/run-files.js';
import type { Origin } from '../../activities/ports.js';
import type { ArtifactRef } from '../../shared/contracts/artifact.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { quiet, temporaryRoot, tinyRecipe } from '../e2e/support.js';

const ORIGIN = { stage: 'convert', activity: 'convertCheckpoint', attempt: 1, inputs: [] } satisfies Origin;
const LIMIT_MS = 120_000;

it(
  'an evaluation of other weights under the same name is made anew, also when the old one was left in its place',
  async () => {
    const { root, remove } = await temporaryRoot();
    const { data, evaluate } = createActivities({ log: quiet, projectRoot: packageRoot() });
    const call = async <Args, Result>(one: (args: Args) => Promise<Result>, args: Args): Promise<Result> =>
      (await new MockActivityEnvironment().run(one as never, args)) as Result;
    const { run: handle } = await call(data.resolveRecipe, { pipelineId: 'again', recipe: tinyRecipe(root, 'local') });
    await call(data.prepareData, { run: handle });
    const run = await openRun(handle);
    const folder = run.path(hfPath('relax'));
    const adopt = (): Promise<ArtifactRef> => run.adopt(hfPath('relax'), 'hf-model', ORIGIN);
    const score = async (weights: ArtifactRef) => {
      const result = await call(evaluate.evaluateModel, { run: handle, model: 'relax', dataset: 'dev', weights });
      return { reused: result.reused, samples: await readFile(run.path(result.samples.path), 'utf8') };
    };
    try {
      await cp(join(packageRoot(), 'models/laptop'), folder, { recursive: true });
      const first = await score(await adopt());
      const file = await open(join(folder, 'model.safetensors'), 'r+');
      const { size } = await file.stat();
      await file.write(Buffer.alloc(200_000), 0, 200_000, size - 200_000);
      await file.close();
      const second = await score(await adopt());
      expect(second.reused).toBe(false);
      expect(second.samples).not.toBe(first.samples);
    } finally {
      await call(evaluate.stopServing, { run: handle, model: 'relax' });
      await remove();
    }
  },
  LIMIT_MS
);
