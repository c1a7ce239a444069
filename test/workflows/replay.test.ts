import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { DeterminismViolationError } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { entryPath } from '../../shared/runtime/entry.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { commandShapes, type CommandShapes } from '../histories/command-shapes.js';
import { JOB_MUTANTS } from '../histories/job-mutants.js';
import { MUTANTS, mutate } from '../histories/mutants.js';
import { fetchRun, HISTORIES, recordedNames } from '../histories/record.js';
import { replayAll, type Bundle } from '../histories/replay-all.js';
import { SCENARIOS } from '../histories/scenarios.js';
import { startPipeline, withWorkers } from './support.js';

/** Whole runs and dozens of replays; on a busy machine they take their time. Nothing here measures it. */
vi.setConfig({ testTimeout: 240_000 });

const CODE = entryPath('workflow-bundle.js');
const HAPPY = ['happy.evaluate', 'happy.pipeline', 'happy.smoke-relax', 'happy.train-relax'];

let environment: TestWorkflowEnvironment;
let names: string[];
let code: string;
afterAll(() => environment.teardown());
beforeAll(async () => {
  environment = await localEnvironment();
  names = await recordedNames();
  code = await readFile(CODE, 'utf8');
});

describe('recorded histories', () => {
  it('cover every way a run can go, with all children that were to be kept', () => {
    for (const [scenario, { children }] of Object.entries(SCENARIOS)) {
      for (const kept of ['pipeline', ...children]) expect(names).toContain(`${scenario}.${kept}`);
    }
    expect(names).toEqual(expect.arrayContaining(['two-arms.train-vime', 'worker-killed.train-relax']));
    expect(names).toContain('continue-as-new.train-relax-3');
  });

  it('replay on the workflow code of today', async () => {
    expect(await replayAll({ codePath: CODE }, names)).toEqual({});
  });
});

describe('a change of the workflow code that running workflows would not survive', () => {
  it.each([...MUTANTS, ...JOB_MUTANTS])('is caught by replay: $name', async (mutant) => {
    const failures = await replayAll({ code: mutate(code, mutant) }, mutant.breaks);
    expect(Object.keys(failures)).toEqual(mutant.breaks);
    for (const failure of Object.values(failures)) expect(failure).toBeInstanceOf(DeterminismViolationError);
  });
});

describe('a change behind patched()', () => {
  /** The change itself, as the README shows it: one more look at the server before the chain begins. */
  const find = /await board\.attributes\.inspect\(\);/;
  const plain = { name: 'plain', find, put: 'await board.attributes.inspect(); await board.attributes.inspect();' };
  const guarded = {
    name: 'guarded',
    find,
    put: "await board.attributes.inspect(); if ((0,_temporalio_workflow__WEBPACK_IMPORTED_MODULE_0__.patched)('second-look')) await board.attributes.inspect();",
  };
  it('replays the histories of before, and those of its own runs', async () => {
    expect(Object.keys(await replayAll({ code: mutate(code, plain) }, ['happy.pipeline']))).toEqual(['happy.pipeline']);
    const changed = { code: mutate(code, guarded) };
    const before = ['happy.pipeline', 'two-arms.pipeline', 'checkpoint-halted-from-stage.pipeline'];
    expect(await replayAll(changed, before)).toEqual({});

    const books = SCENARIOS['happy']!.books();
    await withWorkers(
      environment,
      books,
      async () => {
        const handle = await startPipeline(environment, books);
        await handle.result();
        const fresh = await fetchRun(environment, handle.workflowId);
        const looks = fresh.history.events.filter(
          (event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'inspectServer'
        );
        expect(looks).toHaveLength(2);
        expect(await replayAll(changed, [fresh])).toEqual({});
        expect(Object.keys(await replayAll({ codePath: CODE }, [fresh]))).toHaveLength(1);
      },
      changed
    );
  });
});

describe('what replay cannot see', () => {
  /** Shapes of the commands of a fresh run of a scenario. */
  async function freshShapes(scenario: string, bundle: Bundle = { codePath: CODE }): Promise<CommandShapes> {
    const { books: makeBooks, children } = SCENARIOS[scenario]!;
    const books = makeBooks();
    return await withWorkers(
      environment,
      books,
      async () => {
        const handle = await startPipeline(environment, books);
        await handle.result();
        const ids = ['', ...children.map((child) => `/${child}`)].map((child) => `${handle.workflowId}${child}`);
        const runs = await Promise.all(ids.map((id) => fetchRun(environment, id)));
        return commandShapes(runs.map(({ history }) => history.events));
      },
      bundle
    );
  }
  let embedded: CommandShapes;

  // Written anew with `vitest -u`. Recorded histories are of runs that began before a change and keep the shapes of their time.
  it('is held by the shapes on record: a fresh run of each engine gives these commands', async () => {
    embedded = await freshShapes('happy');
    const text = `${JSON.stringify({ embedded, ray: await freshShapes('jobs-happy') }, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(join(HISTORIES, 'commands.golden.json'));
  });

  it('shows in them: a timer of another length, an activity with other time-outs', async () => {
    const timer = { name: 'timer', find: /FIRST_LOOK_SECONDS = 15/, put: 'FIRST_LOOK_SECONDS = 20' };
    const longest = { name: 'time-out', find: /LONGEST_ACTIVITY = '7 days'/, put: "LONGEST_ACTIVITY = '8 days'" };
    const changed = { code: mutate(mutate(code, timer), longest) };
    expect(await replayAll(changed, HAPPY)).toEqual({});
    const fresh = await freshShapes('happy', changed);
    expect(fresh.timers).not.toEqual(embedded.timers);
    expect(fresh.activities['openArm']).not.toEqual(embedded.activities['openArm']);
    expect(fresh.activities['trainStep']).toEqual(embedded.activities['trainStep']);
  });
});
