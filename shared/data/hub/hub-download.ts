import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { storageError } from '../../artifacts/atomic-file.js';
import { PipelineError } from '../../contracts/pipeline-error.js';
import type { HubClient } from './hub-client.js';
import { refusal, TransientHubError } from './hub-errors.js';
import type { HubReply } from './hub-types.js';

export interface DownloadJob {
  /** The hub's `resolve` address; every try asks it anew, since links to the content network expire. */
  url: string;
  /** Unfinished file; what it holds from an earlier try is kept. */
  partial: string;
  /** Bytes of the whole file, as the hub's listing says. */
  size: number;
  /** Commit that must be served. */
  revision: string;
  /** For messages. */
  what: string;
  onProgress?: (done: number, total: number) => void;
}

/**
 * Downloads a file, going on with `Range` where an earlier try ended. A try that brought at least one byte renews the patience.
 *
 * @throws PipelineError DataInvalid, PinMismatch, EngineUnavailable (patience used up), StorageFailed
 */
export async function downloadResuming(client: HubClient, job: DownloadJob): Promise<void> {
  const handle = await openPartial(job.partial);
  try {
    let { size: have } = await handle.stat();
    if (have > job.size) have = await restart(handle);
    for (let failed = 0; have < job.size;) {
      const before = have;
      let error: unknown = new TransientHubError(`${job.what}: the connection was cut`, undefined);
      try {
        have = await oneTry(client, job, handle, have);
      } catch (caught) {
        error = caught;
        have = await sizeOf(handle);
      }
      if (have >= job.size) break;
      failed = have > before ? 1 : failed + 1;
      await client.waitAfter(error, failed, job.what);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @returns bytes there are now */
async function oneTry(client: HubClient, job: DownloadJob, handle: FileHandle, have: number): Promise<number> {
  const range: Record<string, string> = have > 0 ? { range: `bytes=${have}-` } : {};
  const reply = await client.send(job.url, { headers: { 'accept-encoding': 'identity', ...range } });
  checkCommit(reply, job);
  if (reply.status === 416) {
    await reply.body.dump();
    return restart(handle);
  }
  if (reply.status !== 200 && reply.status !== 206) throw refusal(reply, await reply.body.text(), job.what, client);
  // A server without ranges, or one that begins elsewhere, sends the file from its start.
  const start = reply.status === 206 ? rangeStart(reply) : 0;
  if (start !== have) have = await restart(handle);
  if (start !== 0 && start !== have) {
    await reply.body.dump();
    throw new TransientHubError(`${job.what}: the server sent bytes from ${start} on`, undefined);
  }
  return receive(job, handle, reply, have);
}

async function receive(job: DownloadJob, handle: FileHandle, reply: HubReply, start: number): Promise<number> {
  let have = start;
  for await (const piece of reply.body) {
    const bytes = piece as Buffer;
    if (have + bytes.byteLength > job.size) {
      await restart(handle);
      const cure = 'The mirror in HF_ENDPOINT serves another file than it lists: use another one';
      throw new PipelineError('PinMismatch', `${job.what}: more than the listed ${job.size} bytes arrived. ${cure}`, {
        cure,
      });
    }
    try {
      await handle.write(bytes, 0, bytes.byteLength, have);
    } catch (error) {
      throw storageError(job.partial, error);
    }
    have += bytes.byteLength;
    job.onProgress?.(have, job.size);
  }
  return have;
}

function checkCommit(reply: HubReply, { revision, what }: DownloadJob): void {
  if (reply.commit === undefined || reply.commit === revision) return;
  const cure = 'The mirror in HF_ENDPOINT has another revision: use another one, or correct "revision" in the recipe';
  throw new PipelineError('PinMismatch', `${what}: the hub served commit ${reply.commit}. ${cure}`, { cure });
}

function rangeStart({ headers }: HubReply): number {
  return Number(/^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1] ?? 0);
}

async function openPartial(path: string): Promise<FileHandle> {
  try {
    await mkdir(dirname(path), { recursive: true });
    return await open(path, constants.O_RDWR | constants.O_CREAT);
  } catch (error) {
    throw storageError(path, error);
  }
}

async function restart(handle: FileHandle): Promise<number> {
  await handle.truncate(0);
  return 0;
}

async function sizeOf(handle: FileHandle): Promise<number> {
  return (await handle.stat()).size;
}
