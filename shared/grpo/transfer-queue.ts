import type { FailureDetails, FailureType } from '../contracts/failures.js';
import { PipelineError } from '../contracts/pipeline-error.js';

export interface TransferQueueOptions {
  /** Trajectories that may be under way at once. */
  trajectories: number;
  /** Chunks read at most: a trajectory becomes up to maxChunks + 1 rows. */
  maxChunks: number;
  /** Rows a consumer takes must be divisible by it. Default 1. */
  rowsMultiple?: number;
  /** False = a trajectory is one row, and the capacity is the number of trajectories. Default true. */
  expandTurns?: boolean;
}

/** What happened to the rows of one rollout id. */
export interface TransferLedger {
  /** Rows put into the queue. */
  written: number;
  /** Rows the producer reported; null before its report. */
  produced: number | null;
  /** Rows handed to the consumer. */
  taken: number;
  /** Rows the consumer confirmed; null before. */
  consumed: number | null;
}

interface Partition<Row> {
  rows: Row[];
  ledger: TransferLedger;
  failure: PipelineError | null;
  waiters: Set<() => void>;
}

/**
 * Hands rows from a producer to a consumer, counting rows and not trajectories (memagent.md, "The transfer contract"): rows come
 * one by one, the producer reports how many it wrote for a rollout id, the consumer waits for that report, takes exactly those
 * rows and confirms how many it used. A failure of either side wakes every waiter at once with its cause: nothing hangs.
 */
export class TransferQueue<Row> {
  /** Rows that fit: trajectories × (maxChunks + 1). */
  readonly capacity: number;
  private readonly rowsMultiple: number;
  private readonly partitions = new Map<number, Partition<Row>>();
  private size = 0;
  private failure: PipelineError | null = null;

  constructor(options: TransferQueueOptions) {
    const rowsOfOne = (options.expandTurns ?? true) ? options.maxChunks + 1 : 1;
    this.capacity = options.trajectories * rowsOfOne;
    this.rowsMultiple = options.rowsMultiple ?? 1;
    for (const count of [options.trajectories, options.maxChunks, this.rowsMultiple]) {
      if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`expected a positive integer, got ${count}`);
    }
  }

  /** Rows waiting now. */
  get length(): number {
    return this.size;
  }

  /**
   * Adds one row (rows are normalized already, so they are grouped by 1).
   *
   * @throws PipelineError ConversionFailed when the queue is full or the producer has already reported
   */
  put(rolloutId: number, row: Row): void {
    const partition = this.partition(rolloutId);
    this.throwIfFailed(partition);
    if (partition.ledger.produced !== null) {
      throw this.failWith(rolloutId, 'ConversionFailed', `a row came after the producer's report`);
    }
    if (this.size >= this.capacity) {
      throw this.failWith(rolloutId, 'ConversionFailed', `the queue is full: it holds ${this.capacity} rows`);
    }
    partition.rows.push(row);
    partition.ledger.written += 1;
    this.size += 1;
  }

  /**
   * The producer's report: how many rows it wrote for a rollout id. The same report again changes nothing.
   *
   * @throws PipelineError RowCountMismatch when that is not the number of rows that arrived
   */
  reportProduced(rolloutId: number, rows: number): void {
    const partition = this.partition(rolloutId);
    this.throwIfFailed(partition);
    const { written, produced } = partition.ledger;
    if (produced === rows) return;
    if (produced !== null || written !== rows) {
      const known = produced === null ? `${written} arrived` : `${produced} were reported before`;
      throw this.failWith(rolloutId, 'RowCountMismatch', `the producer reports ${rows} rows, but ${known}`);
    }
    partition.ledger.produced = rows;
    wake(partition);
  }

  /**
   * Reports that generation or conversion failed. Every waiter wakes with the cause; so does everyone who asks later.
   *
   * @param rolloutId the step that failed; absent = the producer as a whole
   */
  fail(cause: PipelineError, rolloutId?: number): void {
    if (rolloutId !== undefined) {
      const partition = this.partition(rolloutId);
      partition.failure ??= cause;
      // Rows that nobody will take must not keep the next step's rows out.
      this.size -= partition.rows.splice(0).length;
      wake(partition);
      return;
    }
    this.failure ??= cause;
    for (const partition of this.partitions.values()) wake(partition);
  }

  /**
   * Waits for the producer's report and takes exactly the reported rows.
   *
   * @throws PipelineError the cause when the producer failed, ConversionFailed when the rows cannot be shared out evenly or were
   *   taken before
   */
  async take(rolloutId: number, signal?: AbortSignal): Promise<Row[]> {
    const partition = this.partition(rolloutId);
    const produced = await this.produced(partition, signal);
    if (partition.ledger.taken > 0) {
      throw this.failWith(rolloutId, 'ConversionFailed', 'its rows were taken before');
    }
    if (produced % this.rowsMultiple !== 0) {
      const message = `${produced} rows are not divisible by ${this.rowsMultiple}`;
      throw this.failWith(rolloutId, 'ConversionFailed', message);
    }
    const rows = partition.rows.splice(0);
    partition.ledger.taken = rows.length;
    this.size -= rows.length;
    return rows;
  }

  /**
   * The consumer's confirmation.
   *
   * @throws PipelineError RowCountMismatch when it used another number of rows than were produced
   */
  confirmConsumed(rolloutId: number, rows: number): void {
    const partition = this.partition(rolloutId);
    this.throwIfFailed(partition);
    const { produced, taken } = partition.ledger;
    if (rows !== produced || rows !== taken) {
      const counts = `produced ${produced ?? 'not reported'}, taken ${taken}, consumed ${rows}`;
      throw this.failWith(rolloutId, 'RowCountMismatch', `the consumer used another number of rows: ${counts}`);
    }
    partition.ledger.consumed = rows;
  }

  /** Counts of a rollout id so far. */
  ledger(rolloutId: number): TransferLedger {
    return { ...this.partition(rolloutId).ledger };
  }

  private async produced(partition: Partition<Row>, signal: AbortSignal | undefined): Promise<number> {
    for (;;) {
      signal?.throwIfAborted();
      this.throwIfFailed(partition);
      if (partition.ledger.produced !== null) return partition.ledger.produced;
      await nextWake(partition, signal);
    }
  }

  private partition(rolloutId: number): Partition<Row> {
    if (!Number.isSafeInteger(rolloutId) || rolloutId < 0) {
      throw new RangeError(`a rollout id must be an integer ≥ 0, got ${rolloutId}`);
    }
    let partition = this.partitions.get(rolloutId);
    if (partition === undefined) {
      const ledger = { written: 0, produced: null, taken: 0, consumed: null };
      partition = { rows: [], ledger, failure: null, waiters: new Set() };
      this.partitions.set(rolloutId, partition);
    }
    return partition;
  }

  private throwIfFailed(partition: Partition<Row>): void {
    const failure = partition.failure ?? this.failure;
    if (failure !== null) throw failure;
  }

  /** A fault of the contract ends the rollout id for both sides. */
  private failWith(rolloutId: number, type: FailureType, message: string): PipelineError {
    const details: FailureDetails = { where: `rollout ${rolloutId}` };
    const error = new PipelineError(type, `rollout ${rolloutId}: ${message}`, details);
    this.fail(error, rolloutId);
    return error;
  }
}

function wake(partition: Partition<unknown>): void {
  const waiters = [...partition.waiters];
  partition.waiters.clear();
  for (const waiter of waiters) waiter();
}

function nextWake(partition: Partition<unknown>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      partition.waiters.delete(done);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    partition.waiters.add(done);
    signal?.addEventListener('abort', done);
  });
}
