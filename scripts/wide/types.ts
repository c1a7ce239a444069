import type { MemoryLimits } from '../../shared/contracts/trajectory.js';

export interface ChildOptions {
  endpoint: string;
  /** Folder of the tokenizer. */
  tokenizer: string;
  dataPath: string;
  samplesPath: string;
  summaryPath: string;
  limits: MemoryLimits;
  concurrency: number;
  /** A line is printed when so many samples are done, however short ago the last one was. */
  markAt: number | null;
}

/** What the evaluating process says of itself. */
export interface ChildLine {
  /** Samples with a result, also those of an earlier process. */
  done: number;
  /** Since the process began. */
  seconds: number;
  /** Of all its threads. */
  cpuSeconds: number;
  rssPeakBytes: number;
  /** Delay of the event loop beyond a 10 ms timer, as `monitorEventLoopDelay` counts it (the timer included). */
  delayP50Ms: number;
  delayP99Ms: number;
  delayMaxMs: number;
  end?: { resumed: number; errors: number };
}

/** What the wide evaluation showed. */
export interface WideFacts {
  samples: number;
  chunks: number;
  concurrency: number;
  /** The process that was killed in the middle, and the one that went on. */
  processes: ChildLine[];
  /** Samples on disk when the first process was killed. */
  kept: number;
  /** Requests that the server answered beyond one for each turn: those in flight at the kill were asked again. */
  requestsAgain: number;
  /** Turns by wall and CPU second. */
  ours: TurnRate;
  reference: TurnRate | undefined;
  /** What must hold and does not. */
  problems: string[];
}

export interface TurnRate {
  turns: number;
  seconds: number;
  cpuSeconds: number;
}
