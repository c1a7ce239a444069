import type { ColumnSource } from 'hyparquet-writer';
import type { Trajectory, TrajectoryStatus, Turn, TurnFinish, TurnKind } from '../contracts/trajectory.js';
import {
  leaf,
  list,
  readParquet,
  ROW_GROUP_ROWS,
  ROW_GROUP_VALUES,
  struct,
  torn,
  writeParquet,
  type ParquetLayout,
} from './parquet-file.js';
import { hasNegativeZero } from './rows-parquet.js';

/**
 * One row a trajectory; its turns are a list of structs. So a trajectory without a turn has its row too, and
 * `SELECT unnest(turns) FROM 'step-000000.parquet'` (DuckDB), `.explode("turns")` (polars, pandas) give one row a turn.
 */
const TURN_FIELDS = [
  leaf('turn_index', 'INT32'),
  leaf('kind', 'STRING'),
  list('tokens', leaf('element', 'INT32')),
  leaf('response_length', 'INT32'),
  list('loss_mask', leaf('element', 'INT32')),
  list('rollout_log_probs', leaf('element', 'DOUBLE')),
  leaf('finish_reason', 'STRING'),
];

const COLUMNS = [
  leaf('group_index', 'INT32'),
  leaf('index', 'INT32'),
  leaf('status', 'STRING'),
  leaf('reward', 'DOUBLE'),
  leaf('diagnostic', 'STRING'),
  leaf('prediction', 'STRING'),
  leaf('final_output', 'STRING'),
  leaf('remove_sample', 'BOOLEAN'),
  leaf('num_chunks', 'INT32'),
  leaf('context_truncated', 'BOOLEAN'),
  leaf('any_turn_truncated', 'BOOLEAN'),
  leaf('final_memory_tokens', 'INT32'),
  list('memory_token_lengths', leaf('element', 'INT32')),
  list('memories', leaf('element', 'STRING')),
  list('turns', struct('element', TURN_FIELDS)),
];

const LAYOUT: ParquetLayout = {
  format: 'trajectories/1',
  schema: [{ name: 'schema', num_children: COLUMNS.length }, ...COLUMNS.flat()],
};

interface TurnRecord {
  turn_index: number;
  kind: string;
  tokens: number[];
  response_length: number;
  loss_mask: number[];
  rollout_log_probs: number[];
  finish_reason: string;
}

interface TrajectoryRecord {
  group_index: number;
  index: number;
  status: string;
  reward: number;
  diagnostic: string;
  prediction: string;
  final_output: string;
  remove_sample: boolean;
  num_chunks: number;
  context_truncated: boolean;
  any_turn_truncated: boolean;
  final_memory_tokens: number;
  memory_token_lengths: number[];
  memories: string[];
  turns: TurnRecord[];
}

/**
 * Writes the trajectories of one step as Parquet, one row a trajectory. Atomic; equal trajectories give equal bytes.
 * A lone surrogate in a text becomes U+FFFD (UTF-8 has no form for it); everything else comes back exactly.
 *
 * @throws PipelineError `StorageFailed` naming the path
 */
export async function writeTrajectories(
  path: string,
  trajectories: readonly Trajectory[]
): Promise<{ sha256: string; bytes: number }> {
  return writeParquet(path, LAYOUT, rowGroups(trajectories));
}

function* rowGroups(trajectories: readonly Trajectory[]): Generator<ColumnSource[]> {
  for (let start = 0; start < trajectories.length;) {
    const end = groupEnd(trajectories, start);
    yield columnsOf(trajectories.slice(start, end).map(toRecord));
    start = end;
  }
}

function groupEnd(trajectories: readonly Trajectory[], start: number): number {
  let values = 0;
  let end = start;
  while (end < trajectories.length && end - start < ROW_GROUP_ROWS) {
    for (const turn of trajectories[end]?.turns ?? []) values += turn.tokens.length;
    if (end > start && values > ROW_GROUP_VALUES) break;
    end += 1;
  }
  return end;
}

function columnsOf(records: TrajectoryRecord[]): ColumnSource[] {
  // The dictionary encoder would merge -0 into 0, which plain encoding keeps apart.
  const plain = records.some(
    ({ reward, turns }) => hasNegativeZero(reward) || turns.some((turn) => hasNegativeZero(turn.rollout_log_probs))
  );
  return COLUMNS.map(([head]) => {
    const name = (head as { name: keyof TrajectoryRecord }).name;
    const data = records.map((record) => record[name]);
    return plain && (name === 'turns' || name === 'reward') ? { name, data, encoding: 'PLAIN' } : { name, data };
  });
}

function toRecord(trajectory: Trajectory): TrajectoryRecord {
  return {
    group_index: trajectory.groupIndex,
    index: trajectory.index,
    status: trajectory.status,
    reward: trajectory.reward,
    diagnostic: trajectory.diagnostic,
    prediction: trajectory.prediction,
    final_output: trajectory.finalOutput,
    remove_sample: trajectory.removeSample,
    num_chunks: trajectory.numChunks,
    context_truncated: trajectory.contextTruncated,
    any_turn_truncated: trajectory.anyTurnTruncated,
    final_memory_tokens: trajectory.finalMemoryTokens,
    memory_token_lengths: trajectory.memoryTokenLengths,
    memories: trajectory.memories,
    turns: trajectory.turns.map((turn) => ({
      turn_index: turn.turnIndex,
      kind: turn.kind,
      tokens: turn.tokens,
      response_length: turn.responseLength,
      loss_mask: turn.lossMask,
      rollout_log_probs: turn.rolloutLogProbs,
      finish_reason: turn.finishReason,
    })),
  };
}

/**
 * Reads what {@link writeTrajectories} wrote.
 *
 * @throws PipelineError `DataInvalid` naming the path
 */
export async function readTrajectories(path: string): Promise<Trajectory[]> {
  const trajectories: Trajectory[] = [];
  await readParquet(path, LAYOUT, (records) => {
    for (const record of records) trajectories.push(fromRecord(path, record));
  });
  return trajectories;
}

function fromRecord(path: string, record: Record<string, unknown>): Trajectory {
  for (const [head] of COLUMNS) {
    if (head !== undefined && (record[head.name] === null || record[head.name] === undefined)) {
      throw torn(path, `a row has no ${head.name}`);
    }
  }
  const row = record as unknown as TrajectoryRecord;
  return {
    groupIndex: row.group_index,
    index: row.index,
    status: row.status as TrajectoryStatus,
    turns: row.turns.map(turnFromRecord),
    finalOutput: row.final_output,
    numChunks: row.num_chunks,
    contextTruncated: row.context_truncated,
    anyTurnTruncated: row.any_turn_truncated,
    memoryTokenLengths: row.memory_token_lengths,
    finalMemoryTokens: row.final_memory_tokens,
    reward: row.reward,
    diagnostic: row.diagnostic,
    prediction: row.prediction,
    removeSample: row.remove_sample,
    memories: row.memories,
  };
}

function turnFromRecord(turn: TurnRecord): Turn {
  return {
    turnIndex: turn.turn_index,
    kind: turn.kind as TurnKind,
    tokens: turn.tokens,
    responseLength: turn.response_length,
    lossMask: turn.loss_mask,
    rolloutLogProbs: turn.rollout_log_probs,
    finishReason: turn.finish_reason as TurnFinish,
  };
}
