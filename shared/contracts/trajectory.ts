/** Types of one recurrent-memory trajectory and of the training rows made from it. */

/** The two reference implementations whose behaviours differ in named points. */
export type Flavour = 'relax' | 'vime';

/** Token limits of the recurrent loop. */
export interface MemoryLimits {
  /** Tokens of one context chunk. */
  chunkTokens: number;
  /** Cap of the memory and of one memory turn's response, in tokens. */
  memoryTokens: number;
  /** Cap of the final answer, in tokens. */
  finalTokens: number;
  /** Chunks read at most; a longer context is recorded as truncated. */
  maxChunks: number;
}

export type TurnKind = 'memory' | 'final';

/** `completed` = the model stopped by itself, `truncated` = the token limit ended it. */
export type TurnFinish = 'completed' | 'truncated';

/** One request and its response: what becomes one training row. */
export interface Turn {
  turnIndex: number;
  kind: TurnKind;
  /** Prompt ids followed by response ids. */
  tokens: number[];
  /** Number of response ids at the end of `tokens`. */
  responseLength: number;
  /** One entry a response token; 1 = trained. */
  lossMask: number[];
  /** Log-probability of each response token when it was sampled (natural logarithm, ≤ 0). */
  rolloutLogProbs: number[];
  finishReason: TurnFinish;
}

export type TrajectoryStatus = 'completed' | 'truncated' | 'aborted' | 'failed';

/** One pass over one context, with its reward. */
export interface Trajectory {
  /** Group (prompt) number within the step. Trajectories of one group share the prompt. */
  groupIndex: number;
  /** Trajectory number within the step: groupIndex × groupSize + sample. */
  index: number;
  status: TrajectoryStatus;
  turns: Turn[];
  /** Text of the final turn, stop strings removed. */
  finalOutput: string;
  numChunks: number;
  contextTruncated: boolean;
  anyTurnTruncated: boolean;
  /** Tokens of the memory after each memory turn. */
  memoryTokenLengths: number[];
  finalMemoryTokens: number;
  /** 0 or 1: only the final answer is scored. */
  reward: number;
  /** Why: `matched | missing_boxed | answer_mismatch`. */
  diagnostic: string;
  /** Extracted answer. */
  prediction: string;
  /** Kept in the batch but trained with an all-zero mask. */
  removeSample: boolean;
  /** Text of the memory after each memory turn (for people, not for training). */
  memories: string[];
}

/** Training rows, one a turn, as columns of equal length (memagent.md, "Row fields"). */
export interface TrainingRows {
  tokens: number[][];
  response_lengths: number[];
  loss_masks: number[][];
  rollout_log_probs: number[][];
  /** Advantage of the row. */
  rewards: number[];
  /** Reward of the row's trajectory before normalization. */
  raw_reward: number[];
  /** 1 where the row's response hit its token limit. */
  truncated: number[];
  sample_indices: number[];
  trajectory_indices: number[];
  turn_indices: number[];
  total_lengths: number[];
}
