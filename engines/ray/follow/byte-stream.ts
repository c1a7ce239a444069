import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { LogStore } from './log-store.js';

/** End of what is stored that is compared with what comes again. Unit: bytes. */
const WINDOW_BYTES = 4 * 1024;
/** More than this waiting for the disk ends the connection; the next one brings it again. Unit: bytes. */
const MOST_WAITING = 16 * 1024 * 1024;

/**
 * Joins connections that all begin at the first byte to one log without repetition: counts bytes, passes over what is known and
 * stores the rest before anybody reads it.
 */
export class ByteStream {
  private readonly decoder = new TextDecoder();
  /** Bytes known: stored, or on their way to the disk. */
  private known = 0;
  /** Bytes of the present connection. */
  private position = 0;
  private window: Buffer = Buffer.alloc(0);
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private writing: Promise<void> | undefined;
  private failure: unknown;

  /** @param onText gets the text in order, after it was stored */
  constructor(
    private readonly store: LogStore,
    private readonly onText: (text: string) => void
  ) {}

  /** Reads what an earlier follower stored. */
  async recover(): Promise<void> {
    for await (const piece of this.store.read()) {
      this.onText(this.decoder.decode(piece, { stream: true }));
      this.remember(piece);
    }
    this.known = this.store.size;
  }

  /** The next text is the log's beginning again. */
  rewind(): void {
    this.position = 0;
  }

  /** The present connection has brought everything that is known. */
  get caughtUp(): boolean {
    return this.position >= this.known;
  }

  /** @returns false when the disk cannot keep up or cannot be written. @throws PipelineError when it is another log */
  take(text: string): boolean {
    if (this.failure !== undefined) return false;
    const bytes = Buffer.from(text, 'utf8');
    const start = this.position;
    this.position += bytes.byteLength;
    this.compare(start, bytes);
    const fresh = bytes.subarray(Math.max(0, this.known - start));
    if (fresh.byteLength === 0) return this.failure === undefined;
    this.known += fresh.byteLength;
    this.remember(fresh);
    this.waiting.push(fresh);
    this.waitingBytes += fresh.byteLength;
    this.writing ??= this.write();
    return this.failure === undefined && this.waitingBytes < MOST_WAITING;
  }

  /** Returns when everything taken is stored. @throws PipelineError StorageFailed, or that the log is another one */
  async flush(): Promise<void> {
    await this.writing;
    if (this.failure !== undefined) throw this.failure as Error;
  }

  private async write(): Promise<void> {
    try {
      while (this.waiting.length > 0) {
        const data = Buffer.concat(this.waiting);
        this.waiting = [];
        this.waitingBytes = 0;
        await this.store.append(data);
        this.onText(this.decoder.decode(data, { stream: true }));
      }
    } catch (error) {
      this.failure = error;
    } finally {
      this.writing = undefined;
    }
  }

  private remember(bytes: Buffer): void {
    this.window = Buffer.from(Buffer.concat([this.window, bytes.subarray(-WINDOW_BYTES)]).subarray(-WINDOW_BYTES));
  }

  /** Bytes that come again must be those that were stored; else this is the log of something else. */
  private compare(start: number, bytes: Buffer): void {
    const windowStart = this.known - this.window.byteLength;
    const from = Math.max(start, windowStart);
    const to = Math.min(start + bytes.byteLength, this.known);
    if (from >= to) return;
    const again = bytes.subarray(from - start, to - start);
    if (again.equals(this.window.subarray(from - windowStart, to - windowStart))) return;
    this.failure = new PipelineError(
      'EngineUnavailable',
      `the cluster now shows another log for the job than the one in ${this.store.folder} (from byte ${from} on)`,
      { where: this.store.folder, cure: 'Look at the job in Ray’s dashboard; decide retry to follow it again.' }
    );
  }
}
