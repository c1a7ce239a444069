import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/runtime/entry.js';
import { frameworkCheckouts, type Checkout } from '../helpers/framework-checkouts.js';
import { rayEnvironment, startRayHead, type RayHead } from '../helpers/ray-head.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { MISBEHAVIOURS, type Misbehaviour } from './misbehaviours/cases.js';
import { misbehavioursDocument, rowOf, rowPattern } from './misbehaviours/document.js';
import { observe, type Observed } from './misbehaviours/observe.js';
import { Pool } from './misbehaviours/pool.js';
import { freshTag, temporaryRoot, withRealWorkers } from './support.js';

const LIMIT_MS = 1_200_000;
/** A cluster has one training job at a time: as many pipelines run beside each other as there are clusters. */
const CLUSTERS = 2;
const DOCUMENT = join(packageRoot(), 'docs/misbehaviours.md');
const updates = process.env['UPDATE_DOCS'] === '1';
const all = updates || process.env['MEMAGENT_ALL_MISBEHAVIOURS'] === '1';
const chosen = MISBEHAVIOURS.filter(({ always }) => all || always === true);
const ray = await rayEnvironment();
const missing = 'missing' in ray ? ray.missing : '';

let folder: Awaited<ReturnType<typeof temporaryRoot>>;
let checkouts: Record<'relax' | 'vime', Checkout>;
let heads: Pool<RayHead>;
let environment: TestWorkflowEnvironment;
let over: () => void;
let workers: Promise<void>;
const tag = freshTag();
const seen = new Map<Misbehaviour, Observed>();

beforeAll(async () => {
  if ('missing' in ray) return;
  folder = await temporaryRoot();
  checkouts = await frameworkCheckouts(join(folder.root, 'frameworks'));
  const started = Array.from({ length: CLUSTERS }, () => startRayHead(ray.venv, 1));
  [environment, heads] = [await localEnvironment(), new Pool(await Promise.all(started))];
  const end = new Promise<void>((resolve) => (over = resolve));
  workers = withRealWorkers(environment, tag, () => end);
}, LIMIT_MS);
afterAll(async () => {
  over?.();
  await workers;
  await environment?.teardown();
  await Promise.all(heads?.all.map((head) => head.stop()) ?? []);
  await folder?.remove();
}, LIMIT_MS);

describe.skipIf(missing !== '')(
  `a training job that misbehaves${missing === '' ? '' : ` (skipped: ${missing})`}`,
  () => {
    it.concurrent.each(
      chosen.map((misbehaviour) => [misbehaviour.imitate, misbehaviour.flavour, misbehaviour] as const)
    )(
      'by %s of %s ends in its class, and the pipeline does what the failure table says',
      async (imitate, flavour, misbehaviour) => {
        const id = `${imitate.replaceAll(/[^a-z]+/g, '-').replace(/-$/, '')}-${flavour}`;
        const root = join(folder.root, 'runs');
        const observed = await heads.with((head) =>
          observe({ environment, head, checkouts, root, tag }, misbehaviour, id)
        );
        seen.set(misbehaviour, observed);
        const { types, state, resumedAt } = misbehaviour;
        expect({ ...observed, seconds: 0, says: '' }).toEqual({
          types,
          state,
          resumedAt: resumedAt === undefined ? [] : [resumedAt],
          seconds: 0,
          says: '',
        });
      },
      LIMIT_MS
    );

    it('is in the document with what was seen now, times apart (UPDATE_DOCS=1 writes it anew)', async () => {
      const before = existsSync(DOCUMENT) ? await readFile(DOCUMENT, 'utf8') : '';
      if (updates) await writeFile(DOCUMENT, misbehavioursDocument(seen, before));
      const document = await readFile(DOCUMENT, 'utf8');
      for (const row of seen) expect(document).toMatch(rowPattern(...row));
      for (const misbehaviour of MISBEHAVIOURS)
        expect(rowOf(misbehaviour, document), misbehaviour.imitate).toHaveLength(1);
    });
  }
);
