/** Types of the recurrent loop: what it needs, what it asks a model, what it returns. */
import type { Flavour, MemoryLimits, TrajectoryStatus, Turn, TurnKind } from '../contracts/trajectory.js';
import type { ChatMessage, Tokenizer } from '../tokenizer/types.js';

export type { ChatMessage } from '../tokenizer/types.js';

/** A context cut into chunks, made once and shared by all trajectories over it. */
export interface PreparedContext {
  /** Text of each chunk that is read: its ids decoded, special tokens left out. */
  chunks: readonly string[];
  /** `chunks.length`. */
  numChunks: number;
  /** Tokens of the whole context, also of what was cut off. */
  totalTokens: number;
  /** Tokens of the chunks that are read. */
  tokensRead: number;
  /** The context had more than `maxChunks` chunks. */
  truncated: boolean;
}

/** One independent request of a trajectory. */
export interface TurnRequest {
  /** Ids of the whole rendered prompt. */
  promptIds: readonly number[];
  /** Most new tokens: the memory cap or the final cap. */
  maxNewTokens: number;
  /** 0 for the first chunk; the final turn has the number of chunks. */
  turnIndex: number;
  kind: TurnKind;
  /** The same prompt as messages, for servers that render it themselves. */
  messages: ChatMessage[];
}

export interface TurnResponse {
  /** Ids of the reply; null = the server told only its text, which is enough for an evaluation and for nothing else. */
  outputIds: number[] | null;
  /** One per output id, natural logarithm; null = the server gave none (evaluation only). */
  logProbs: number[] | null;
  finish: 'stop' | 'length' | 'abort';
  /** The reply's text where the server sent one; left out = `outputIds` decoded. */
  text?: string;
}

/** Asks a model for one turn. A rejection fails the trajectory; it is never retried here. */
export type GenerateTurn = (request: TurnRequest) => Promise<TurnResponse>;

export interface TrajectoryInput {
  question: string;
  /** Prepared once per context; a string is prepared on the spot. */
  context: PreparedContext | string;
  limits: MemoryLimits;
  flavour: Flavour;
  /** Prompt variant: true = evaluation (no space after `<problem>`), false = training. */
  evaluation: boolean;
  /** null or left out = the template's default. */
  enableThinking?: boolean | null;
  /** Ablation: every chunk is read as if it were the first; the final turn gets what the last one left. Default false. */
  emptyMemory?: boolean;
  /** false = `turns` stays empty: an evaluation needs memories and answer only, and the turns' ids are megabytes. Default true. */
  keepTurns?: boolean;
}

export interface TrajectoryDeps {
  tokenizer: Tokenizer;
  generate: GenerateTurn;
  /** Ends the trajectory as `aborted` before its next request. */
  signal?: AbortSignal;
}

/**
 * One pass over a context. `turns` is empty unless the status is `completed` or `truncated` (and also then without `keepTurns`,
 * or in an evaluation through a server that tells no token ids).
 */
export interface RecurrentResult {
  status: TrajectoryStatus;
  turns: Turn[];
  /** Text of the final turn, stop texts removed, trimmed. */
  finalOutput: string;
  /** Text of the final turn as it came. */
  finalResponse: string;
  numChunks: number;
  contextTruncated: boolean;
  anyTurnTruncated: boolean;
  /** Tokens of the memory after each memory turn. */
  memoryTokenLengths: number[];
  finalMemoryTokens: number;
  /** Text of the memory after each memory turn. */
  memories: string[];
  /** Why the status is `failed` or `aborted`. */
  error?: Error;
}
