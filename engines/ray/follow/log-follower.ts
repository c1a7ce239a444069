import { setTimeout as pause } from 'node:timers/promises';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { RayJobsClient } from '../jobs/client.js';
import { CouldNotLook, RayRefused } from '../jobs/errors.js';
import type { TailEnd } from '../jobs/tail.js';
import type { StepLogReader } from '../types.js';
import { ByteStream } from './byte-stream.js';
import type { LogStore } from './log-store.js';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A stream of a job that is over closes by itself; after this long it is opened again. Unit: milliseconds. */
const CLOSING_MS = 5_000;
/** A log up to this size is fetched whole. Unit: bytes. */
const SHORT_LOG_BYTES = 16 * 1024 * 1024;

/**
 * Brings a job's log to disk and to the reader of its steps, once and in order. Every connection begins at the log's first byte;
 * what is stored already is passed over. Where no stream can be had (a gateway without WebSockets, a line too long for Ray's own
 * stream) the whole log is fetched from time to time instead.
 */
export class LogFollower {
  private stopper = new AbortController();
  private connection = new AbortController();
  private readonly stream: ByteStream;
  private loop: Promise<void> | undefined;
  private jobOver = false;
  private connected = false;
  /** When the whole log was fetched last, for where there is no stream. */
  private fetchedAt = -Infinity;
  private failure: unknown;

  constructor(
    private readonly client: RayJobsClient,
    private readonly id: string,
    private readonly store: LogStore,
    private readonly reader: StepLogReader,
    private readonly onChange: () => void
  ) {
    this.stream = new ByteStream(store, (text) => {
      this.reader.push(text);
      this.onChange();
    });
  }

  /** Reads what is stored already, then follows. @throws PipelineError StorageFailed */
  async start(): Promise<void> {
    await this.stream.recover();
    this.run();
  }

  private run(): void {
    this.stopper = new AbortController();
    this.loop = this.follow().catch((error: unknown) => {
      this.failure = error;
      this.onChange();
    });
  }

  /** Whether new lines would be seen now. */
  get sees(): boolean {
    return this.connected || performance.now() - this.fetchedAt < 3 * LONGEST_PAUSE_MS;
  }

  /** @throws whatever made following impossible: a full disk, another log under the same id */
  check(): void {
    if (this.failure !== undefined) throw this.failure as Error;
  }

  /** Begins a new connection: the present one may be dead without a sign. */
  reconnect(): void {
    this.connection.abort();
  }

  /**
   * Brings the rest of the log of a job that is over.
   *
   * @returns false when it could not be had within the limit
   */
  async drain(limitMs: number): Promise<boolean> {
    // Ray closes the stream of a job that is over only after some seconds; a short log is had at once.
    const whole = (this.store.size < SHORT_LOG_BYTES && (await this.fetchRest())) || (await this.streamRest(limitMs));
    await this.stop();
    this.check();
    this.reader.end();
    return whole;
  }

  private async fetchRest(): Promise<boolean> {
    await this.stop();
    this.check();
    return await this.fetchWhole(AbortSignal.timeout(CLOSING_MS));
  }

  private async streamRest(limitMs: number): Promise<boolean> {
    this.jobOver = true;
    if (this.stopper.signal.aborted) this.run();
    const limit = new AbortController();
    const closing = setTimeout(() => this.reconnect(), CLOSING_MS);
    const given = await Promise.race([
      this.loop?.then(() => true),
      pause(limitMs, false, { signal: limit.signal }).catch(() => false),
    ]);
    limit.abort();
    clearTimeout(closing);
    return given === true;
  }

  /** Ends following; what came is on disk. */
  async stop(): Promise<void> {
    this.stopper.abort();
    this.connection.abort();
    await this.loop;
    await this.stream.flush().catch(() => undefined);
    this.connected = false;
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopper;
    let wait = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const before = this.store.size;
      // A stream that was opened after the job's end and was closed in order gave everything.
      const final = this.jobOver;
      const end = await this.connect(signal);
      await this.stream.flush();
      if (final && end === 'closed') return;
      const advanced = this.store.size > before;
      if (!advanced && end !== 'closed' && !signal.aborted && (await this.fetchWhole(signal)) && final) return;
      wait = advanced || end === 'closed' ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, wait * 2);
      await pause(wait, undefined, { signal }).catch(() => undefined);
    }
  }

  private async connect(signal: AbortSignal): Promise<TailEnd | 'failed'> {
    this.connection = new AbortController();
    this.stream.rewind();
    // Seen only once the stream has brought what is stored already; until then it might hang.
    const onText = (text: string): boolean => {
      const wanted = this.stream.take(text);
      this.connected = this.stream.caughtUp;
      return wanted;
    };
    this.connected = this.stream.caughtUp;
    try {
      return await this.client.tail(this.id, onText, AbortSignal.any([signal, this.connection.signal]));
    } catch (error) {
      if (error instanceof CouldNotLook || error instanceof RayRefused || signal.aborted) return 'failed';
      throw error;
    } finally {
      this.connected = false;
    }
  }

  private async fetchWhole(signal: AbortSignal): Promise<boolean> {
    this.stream.rewind();
    try {
      const text = await this.client.logs(this.id, signal);
      this.stream.take(text);
      await this.stream.flush();
      this.fetchedAt = performance.now();
      return true;
    } catch (error) {
      if (error instanceof PipelineError && !(error instanceof CouldNotLook || error instanceof RayRefused))
        throw error;
      return false;
    }
  }
}
