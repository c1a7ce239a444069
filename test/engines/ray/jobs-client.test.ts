import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RayJobsClient } from '../../../engines/ray/jobs/client.js';
import { isOver, type JobInfo } from '../../../engines/ray/jobs/job-info.js';
import type { JobSpec } from '../../../engines/ray/types.js';
import { rayEnvironment, startRayHead, type RayHead } from '../../helpers/ray-head.js';
import { until } from '../../workflows/support.js';

const environment = await rayEnvironment();
const why = 'missing' in environment ? environment.missing : '';

let head: RayHead;
let client: RayJobsClient;
beforeAll(async () => {
  if ('missing' in environment) return;
  head = await startRayHead(environment.venv);
  client = await RayJobsClient.open({ address: head.address });
}, 180_000);
afterAll(async () => {
  await client?.close();
  await head?.stop();
});

function spec(entrypoint: string, metadata: Record<string, string> = {}): JobSpec {
  return { entrypoint, runtimeEnv: { env_vars: {} }, metadata };
}

async function ended(id: string): Promise<JobInfo> {
  let job: JobInfo | undefined;
  await until(async () => {
    job = await client.status(id);
    return job !== undefined && isOver(job.status);
  }, `job ${id} is over`);
  return job as JobInfo;
}

/** The stream of a job's log until it ends. */
async function streamed(id: string): Promise<{ text: string; end: string }> {
  let text = '';
  const take = (piece: string): boolean => {
    text += piece;
    return true;
  };
  const end = await client.tail(id, take, AbortSignal.timeout(30_000));
  return { text, end };
}

describe.skipIf(why !== '')(`the Jobs API of a real Ray head${why === '' ? '' : ` (skipped: ${why})`}`, () => {
  it('says which cluster it is', async () => {
    const version = await client.version();
    expect(version.rayVersion).toBe('2.49.2');
    expect(version.sessionName).toMatch(/^session_/);
  });

  it('takes a job once: the same again is adopted, another under its id is refused', async () => {
    const job = spec('sleep 0.1', { arm: 'relax' });
    const [first, second] = await Promise.allSettled([client.submit('once', job), client.submit('once', job)]);
    const outcomes = [first, second].map((each) => (each.status === 'fulfilled' ? each.value.adopted : each.reason));
    expect(outcomes.filter((adopted) => adopted === false)).toHaveLength(1);
    expect((await client.submit('once', job)).adopted).toBe(true);
    await expect(client.submit('once', spec('sleep 0.2', { arm: 'vime' }))).rejects.toMatchObject({
      type: 'PinMismatch',
      details: { problems: ['the entrypoint differs', 'metadata arm differs'] },
    });
  });

  it('keeps the id of a job that is over, until it is deleted', async () => {
    await client.submit('kept', spec('echo one'));
    await expect(client.delete('kept')).rejects.toThrow('status 500');
    await ended('kept');
    expect(await client.submit('kept', spec('echo one'))).toMatchObject({
      adopted: true,
      job: { status: 'SUCCEEDED' },
    });
    await client.delete('kept');
    expect(await client.status('kept')).toBeUndefined();
  });

  it('refuses what is not of the API with its last line, not with a traceback', async () => {
    const wrong = { ...spec('true'), metadata: { steps: 3 } } as unknown as JobSpec;
    const error: Error = await client.submit('wrong', wrong).then(
      () => new Error('was taken'),
      (reason: Error) => reason
    );
    expect(error.message).toMatch(/status 400: .*metadata/s);
    expect(error.message).not.toContain('Traceback');
  });

  it('stops a job that does not hear SIGTERM, and says when it is over; a stop of a job that is over does nothing', async () => {
    await client.submit(
      'deaf',
      spec('python3 -c "import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"')
    );
    await until(async () => (await client.status('deaf'))?.status === 'RUNNING', 'the job runs');
    expect(await client.stop('deaf', 30_000)).toMatchObject({ status: 'STOPPED' });
    expect(await client.requestStop('deaf')).toBe(false);
    expect(await client.stop('deaf', 1_000)).toMatchObject({ status: 'STOPPED' });
    expect(await client.stop('never-there', 1_000)).toBeUndefined();
  });

  it('tells a failed job’s exit code and last lines', async () => {
    await client.submit('fails', spec('echo the reason; exit 3'));
    expect(await ended('fails')).toMatchObject({
      status: 'FAILED',
      exitCode: 3,
      message: expect.stringContaining('the reason') as string,
    });
  });

  it('streams the log from its first byte and closes at its end: every line once, also without a line end, beyond ASCII', async () => {
    const program = 'for i in range(1000): print(i, "Zeile äöü 漢字 🎉")\nprint("no end", end="")';
    await client.submit('stream', spec(`python3 -c '${program}'`, {}));
    const { text, end } = await streamed('stream');
    expect(end).toBe('closed');
    expect(text).toBe(await client.logs('stream'));
    const lines = text.split('\n').filter((line) => /^\d+ Zeile äöü 漢字 🎉$/.test(line));
    expect(lines).toHaveLength(1000);
    expect(text.endsWith('no end')).toBe(true);
  });

  it('lists jobs by id, and does not know others', async () => {
    const ids = (await client.list()).map(({ submissionId }) => submissionId);
    expect(ids).toEqual([...ids].sort());
    expect(ids).toContain('once');
    expect(await client.status('never-there')).toBeUndefined();
    await expect(client.logs('never-there')).rejects.toThrow('does not exist');
    await expect(client.tail('never-there', () => true, AbortSignal.timeout(10_000))).rejects.toThrow('WebSocket');
  });
});
