import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Snapshot } from '../../cli/pipeline-client.js';
import type { QueueHealth } from '../../cli/queue-health.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { BookKeeping, startPipeline, testRecipe, until, withWorkers } from '../workflows/support.js';
import { memagent, type CommandOptions, type CommandResult } from './support.js';

/** A run has dozens of round trips; on a busy machine they take their time. Nothing here measures it. */
const LIMIT = 180_000;
vi.setConfig({ testTimeout: LIMIT });

let environment: TestWorkflowEnvironment;
let folder: string;
beforeAll(async () => {
  environment = await localEnvironment();
  folder = await mkdtemp(join(tmpdir(), 'memagent-cli-'));
});
afterAll(async () => {
  await environment.teardown();
  await rm(folder, { recursive: true });
});

function run(args: string[], options: CommandOptions = {}): Promise<CommandResult> {
  const env = {
    TEMPORAL_ADDRESS: environment.connection.options.address,
    TEMPORAL_NAMESPACE: 'default',
    ...options.env,
  };
  return memagent(args, { ...options, env });
}

function newId(): string {
  return `cli-${randomUUID().slice(0, 8)}`;
}

async function recipeFile(books: BookKeeping): Promise<string> {
  const path = join(folder, `${randomUUID()}.json`);
  await writeFile(path, JSON.stringify(books.recipe));
  return path;
}

/** A run that is halted in its training stage. */
async function withHaltedRun(body: (id: string, books: BookKeeping) => Promise<void>): Promise<void> {
  const books = new BookKeeping(testRecipe({ onHalt: 'wait' }));
  books.fail('trainStep:train-relax:1', 'NonFiniteLoss', 1, false);
  await withWorkers(environment, books, async () => {
    const id = newId();
    await startPipeline(environment, books, id);
    await until(
      async () => {
        const status = await run(['status', id, '--json']);
        return (JSON.parse(status.out) as Snapshot).progress?.halt !== undefined;
      },
      'the run is halted',
      LIMIT
    );
    await body(id, books);
  });
}

describe('memagent start and watch', () => {
  it('start a run, show each change in a line, and end with the verdict and code 0', async () => {
    const books = new BookKeeping(testRecipe());
    await withWorkers(environment, books, async () => {
      const id = newId();
      const { code, out } = await run(['start', await recipeFile(books), '--id', id, '--watch']);
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^started ${id}$`, 'm'));
      expect(out).toMatch(/train:relax: done after/);
      expect(out).toMatch(/train:vime: step 4\/4/);
      expect(out).toMatch(new RegExp(`${id}: completed`));
      expect(out).toMatch(/^verdict: passed\. The arms agree\.$/m);
      expect(out).toMatch(new RegExp(`^report: {2}/nowhere/${id}/report\\.html$`, 'm'));
    });
  });

  it('name the run after the recipe and its hash, and refuse to start it twice at once', async () => {
    const books = new BookKeeping(testRecipe());
    const file = await recipeFile(books);
    const first = await run(['start', file, '--json']);
    const { id } = JSON.parse(first.out) as { id: string };
    expect(id).toMatch(/^test-[0-9a-f]{8}$/);
    const second = await run(['start', file]);
    expect(second).toMatchObject({
      code: 2,
      err: expect.stringContaining(`a run ${id} is going on already`) as string,
    });
    expect((await run(['cancel', id, '--json'])).code).toBe(0);
    await environment.client.workflow.getHandle(id).terminate();
  });

  it('print JSON lines for machines, each a whole snapshot', async () => {
    const books = new BookKeeping(testRecipe());
    await withWorkers(environment, books, async () => {
      const id = newId();
      await startPipeline(environment, books, id);
      const { code, out } = await run(['watch', id, '--json']);
      const snapshots = out.split('\n').map((line) => JSON.parse(line) as Snapshot);
      expect(code).toBe(0);
      expect(snapshots.at(-1)).toMatchObject({ id, status: 'COMPLETED', progress: { verdict: { outcome: 'passed' } } });
    });
  });

  it('leave the run going when interrupted, with code 130', async () => {
    await withHaltedRun(async (id) => {
      const interrupt = new AbortController();
      const { code, err } = await run(['watch', id], {
        signal: interrupt.signal,
        onLine: (line) => line.includes('halted in') && interrupt.abort(),
      });
      expect(code).toBe(130);
      expect(err).toContain(`${id} goes on`);
      expect((await environment.client.workflow.getHandle(id).describe()).status.name).toBe('RUNNING');
      await environment.client.workflow.getHandle(id).cancel();
    });
  });

  it('say why a run failed and how to fix it, with code 1', async () => {
    const books = new BookKeeping(testRecipe({ onHalt: 'fail' }));
    books.fail('convertRollouts:train-vime:2', 'ConversionFailed', 1, false);
    await withWorkers(environment, books, async () => {
      const id = newId();
      await startPipeline(environment, books, id);
      const { code, out } = await run(['watch', id]);
      expect(code).toBe(1);
      expect(out).toMatch(/^failed: {2}ConversionFailed: .*ConversionFailed on purpose/m);
      expect(out).toMatch(/^fix: {5}The message names the trajectory/m);
    });
  });

  it('know no run of that name', async () => {
    for (const command of ['watch', 'status', 'cancel'])
      expect(await run([command, 'nobody'])).toMatchObject({
        code: 2,
        err: expect.stringContaining('there is no workflow "nobody"') as string,
      });
  });
});

describe('memagent status', () => {
  it('names the queues of running stages that no worker polls, and the command that helps', async () => {
    const books = new BookKeeping(testRecipe({}, 'h100x8'));
    const id = newId();
    await startPipeline(environment, books, id);
    const { code, out } = await run(['status', id]);
    expect(code).toBe(0);
    expect(out).toContain('no worker polls data@h100x8: start one with `memagent worker --role data --tag h100x8`');
    const { queues } = JSON.parse((await run(['status', id, '--json'])).out) as { queues: QueueHealth[] };
    expect(queues.find((queue) => queue.queue === 'data@h100x8')).toMatchObject({ pollers: 0 });
    await environment.client.workflow.getHandle(id).terminate();
  });

  it('says that no workflow worker answers', async () => {
    const id = newId();
    await environment.client.workflow.start('memAgentPipeline', {
      taskQueue: 'nobody-here',
      workflowId: id,
      args: [{}],
    });
    const { out } = await run(['status', id]);
    expect(out).toContain('no workflow worker answers');
    await environment.client.workflow.getHandle(id).terminate();
    expect((await run(['status', id])).out).toContain('terminated by somebody');
  });

  it('finds the workers of every queue of a halted run’s stage', async () => {
    await withHaltedRun(async (id, books) => {
      const { code, out } = await run(['status', id]);
      expect(code).toBe(0);
      expect(out).toContain('halted: NonFiniteLoss');
      expect(out).toContain(`memagent decide ${id} --action retry|abort`);
      expect(out).not.toContain('no worker polls');
      expect(books.count('trainStep:train-relax:1')).toBe(1);
      await environment.client.workflow.getHandle(id).cancel();
    });
  });
});

describe('memagent decide and cancel', () => {
  it('try a halted stage again', async () => {
    await withHaltedRun(async (id) => {
      const decided = await run(['decide', id, '--action', 'retry', '--note', 'a flipped bit']);
      expect(decided).toMatchObject({ code: 0, out: expect.stringContaining('train:relax is tried again') as string });
      expect((await run(['watch', id])).code).toBe(0);
    });
  });

  it('end a halted run with its failure', async () => {
    await withHaltedRun(async (id) => {
      expect((await run(['decide', id, '--action', 'abort', '--json'])).code).toBe(0);
      const { code, out } = await run(['watch', id]);
      expect(code).toBe(1);
      expect(out).toContain('NonFiniteLoss');
    });
  });

  it('refuse a decision when nothing waits for one', async () => {
    const books = new BookKeeping(testRecipe());
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    books.onCall = async (key) => (key === 'judge' ? gate : undefined);
    await withWorkers(environment, books, async () => {
      const id = newId();
      const handle = await startPipeline(environment, books, id);
      await until(() => books.count('judge') === 1, 'the run is judged');
      const refused = await run(['decide', id, '--action', 'retry']);
      expect(refused).toMatchObject({
        code: 1,
        err: expect.stringContaining('nothing waits for a decision') as string,
      });
      open();
      await handle.result();
    });
  });

  it('cancel a run and wait for its end', async () => {
    await withHaltedRun(async (id) => {
      const { code, out } = await run(['cancel', id, '--wait']);
      expect(code).toBe(0);
      expect(out).toContain(`${id}: cancelled`);
      expect((await run(['cancel', id])).out).toBe(`nothing to cancel: ${id} is over already (cancelled)`);
      expect((await run(['status', id])).code).toBe(1);
    });
  });
});

describe('memagent replay', () => {
  it('replays a run of the server with its children', async () => {
    const books = new BookKeeping(testRecipe());
    await withWorkers(environment, books, async () => {
      const id = newId();
      const handle = await startPipeline(environment, books, id);
      await handle.result();
      const { code, out } = await run(['replay', id]);
      expect(code).toBe(0);
      for (const child of ['', '/smoke-relax', '/train-vime', '/evaluate'])
        expect(out).toMatch(new RegExp(`^✔ ${id}${child} \\(\\d+ events\\)$`, 'm'));
    });
  });
});
