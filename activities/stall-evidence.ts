import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { LOG_FILE } from '../engines/supervision/leased-process.js';
import { readLease } from '../engines/supervision/lease.js';
import { lastLines } from '../shared/runtime/log-tail.js';
import { describeGroup } from '../shared/runtime/process-group.js';
import type { ProgressReport, Stall } from './progress-clock.js';
import type { Guard } from './watchdog.js';

/** Longest time for each look. Unit: milliseconds. */
const LOOK_MS = 3_000;
const ANSWER_BYTES = 4 * 1024;

/** What could not be seen is said in words: the record is for people. */
type Seen<T> = T | { notSeen: string };

async function look<T>(body: () => Promise<T>): Promise<Seen<T>> {
  try {
    return await body();
  } catch (error) {
    return { notSeen: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * What can be seen of work that does not get on, before anything is done about it: processes and threads of the engine's group,
 * the last lines of its log, what its server answers, the GPUs. Every look is bounded, and one that fails is recorded as such.
 */
export async function stallEvidence(
  stall: Stall,
  report: ProgressReport | undefined,
  { engineFolder, serverFolder }: Pick<Guard, 'engineFolder' | 'serverFolder'>
): Promise<Record<string, unknown>> {
  const lease = engineFolder === undefined ? undefined : await readLease(engineFolder);
  const endpoint = lease === undefined ? undefined : `http://127.0.0.1:${lease.port}`;
  const [processes, log, serverLog, health, server, gpus] = await Promise.all([
    look(async () => (lease === undefined ? [] : await describeGroup(lease.engine.pid))),
    look(async () => (engineFolder === undefined ? [] : await lastLines(join(engineFolder, LOG_FILE)))),
    look(async () => (serverFolder === undefined ? undefined : await lastLines(join(serverFolder, LOG_FILE)))),
    look(async () => (endpoint === undefined ? undefined : await answer(`${endpoint}/health`))),
    look(async () => (endpoint === undefined ? undefined : await answer(`${endpoint}/get_server_info`))),
    look(gpuState),
  ]);
  const memory = process.memoryUsage();
  return {
    at: new Date().toISOString(),
    host: hostname(),
    stall,
    lastReport: report ?? null,
    worker: { pid: process.pid, residentBytes: memory.rss, uptimeSeconds: Math.round(process.uptime()) },
    engine: lease ?? null,
    processes,
    engineLog: log,
    ...(serverLog === undefined ? {} : { rolloutServerLog: serverLog }),
    health: health ?? null,
    server: server ?? null,
    gpus,
  };
}

async function answer(url: string): Promise<{ status: number; body: string }> {
  const reply = await request(url, {
    headersTimeout: LOOK_MS,
    bodyTimeout: LOOK_MS,
    signal: AbortSignal.timeout(LOOK_MS),
  });
  const body = await reply.body.text();
  return { status: reply.statusCode, body: body.slice(0, ANSWER_BYTES) };
}

async function gpuState(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('nvidia-smi', [], { timeout: LOOK_MS, maxBuffer: 1024 * 1024 });
  return stdout.split('\n').slice(0, 200);
}
