import type { Flavour, MemoryLimits, Turn } from '../../contracts/trajectory.js';
import { questionOf } from '../../memory/prompts.js';
import { runTrajectory } from '../../memory/recurrent-loop.js';
import type { GenerateTurn, RecurrentResult, TurnRequest, TurnResponse } from '../../memory/types.js';
import type { Tokenizer } from '../../tokenizer/types.js';
import { differences } from '../difference.js';
import type { ConformanceCase } from '../types.js';
import {
  project,
  refusalDifferences,
  sha256Ids,
  sha256Text,
  textOf,
  tokenizerChecker,
  type CaseText,
} from './tokenizer-cases.js';

interface ScriptedOutput {
  text: string;
  finish: 'stop' | 'length' | 'abort' | 'error';
  ids?: number[];
  no_log_probs?: boolean;
}

interface Input {
  prompt: string | { content: string }[];
  metadata_question?: string | null;
  context: CaseText;
  limits: Record<string, number | boolean | null>;
  outputs: ScriptedOutput[];
  evaluation?: boolean;
  enable_thinking?: boolean | null;
}

interface Run {
  flavour: Flavour;
  /** Give the scripted text as the reply's text; otherwise the ids are decoded. */
  givesText: boolean;
  /** Only relax knows the switches. */
  evaluation: boolean;
  enableThinking: boolean | null;
}

/** Plays the script, one output a request, and keeps the requests. */
function scripted(outputs: ScriptedOutput[], run: Run, tokenizer: Tokenizer, sent: TurnRequest[]): GenerateTurn {
  return async (request) => {
    sent.push(request);
    const turn = sent.length;
    const output = outputs[turn - 1];
    if (output === undefined) throw new Error(`the script has no output for request ${turn}`);
    if (output.finish === 'error') throw new Error('scripted failure');
    const outputIds = output.ids ?? tokenizer.encode(output.text);
    const response: TurnResponse = {
      outputIds,
      logProbs: output.no_log_probs === true ? null : outputIds.map((_, at) => -(turn + (at % 7)) / 16),
      finish: output.finish,
    };
    return run.givesText ? { ...response, text: output.text } : response;
  };
}

function limitsOf({ limits }: Input): MemoryLimits {
  const value = (name: string, byDefault: number) => Number(limits[name] ?? byDefault);
  return {
    chunkTokens: value('chunk_tokens', 2048),
    memoryTokens: value('max_memory_tokens', 1024),
    finalTokens: value('max_final_tokens', 256),
    maxChunks: value('max_chunks', 64),
  };
}

async function play(input: Input, run: Run, tokenizer: Tokenizer) {
  const sent: TurnRequest[] = [];
  const { flavour, evaluation, enableThinking } = run;
  const question = questionOf(flavour, { prompt: input.prompt, question: input.metadata_question });
  const generate = scripted(input.outputs, run, tokenizer, sent);
  const result = await runTrajectory(
    { question, context: textOf(input.context), limits: limitsOf(input), flavour, evaluation, enableThinking },
    { tokenizer, generate }
  ).catch((error: unknown) => error);
  return { result, requests: sent.map((request) => requestOf(request, run, tokenizer)), sent, question };
}

function requestOf({ messages, promptIds, maxNewTokens }: TurnRequest, run: Run, tokenizer: Tokenizer) {
  return {
    prompt_sha256: sha256Text(tokenizer.renderChat(messages, { enableThinking: run.enableThinking })),
    prompt_tokens: promptIds.length,
    prompt_ids_sha256: sha256Ids(promptIds),
    max_new_tokens: maxNewTokens,
  };
}

function turnOf(turn: Turn) {
  return {
    turn_index: turn.turnIndex,
    kind: turn.kind,
    finish_reason: turn.finishReason,
    tokens_length: turn.tokens.length,
    tokens_sha256: sha256Ids(turn.tokens),
    response_length: turn.responseLength,
    loss_mask_ones: turn.lossMask.filter((one) => one === 1).length,
    loss_mask_length: turn.lossMask.length,
    rollout_log_probs_length: turn.rolloutLogProbs.length,
    rollout_log_probs_head: turn.rolloutLogProbs.slice(0, 3),
  };
}

/** relax's view of the whole trajectory is its final turn. */
function relaxSample(result: RecurrentResult, requests: ReturnType<typeof requestOf>[]) {
  const turn = result.turns.at(-1);
  return {
    ...(turn === undefined ? {} : turnOf(turn)),
    prompt_sha256: requests.at(-1)?.prompt_sha256,
    response: result.finalOutput,
  };
}

/** vime's: the first prompt, then every turn whole, with the responses as the only trained tokens. */
function vimeSample({ turns, finalOutput }: RecurrentResult, sent: TurnRequest[]) {
  const all = turns.flatMap((turn) => turn.tokens);
  const tokens = [...(sent[0]?.promptIds ?? []), ...all];
  return {
    tokens_length: tokens.length,
    tokens_sha256: sha256Ids(tokens),
    response_length: all.length,
    loss_mask_length: all.length,
    loss_mask_ones: turns.reduce((sum, turn) => sum + turnOf(turn).loss_mask_ones, 0),
    rollout_log_probs_length: turns.reduce(
      (sum, turn) => sum + turn.tokens.length - turn.responseLength + turn.rolloutLogProbs.length,
      0
    ),
    prompt_sha256: sha256Text(sent.at(-1)?.messages[0]?.content ?? ''),
    response: finalOutput,
  };
}

interface Expected {
  error?: { message: string };
  generate_wrapper_status?: string;
  requests?: unknown;
}

async function checkRun(expected: Expected, name: string, input: Input, run: Run, tokenizer: Tokenizer) {
  const { result, requests, sent, question } = await play(input, run, tokenizer);
  const failed = result instanceof Error ? { error: result, status: 'aborted' } : (result as RecurrentResult);
  if (expected.error !== undefined) {
    return [
      ...refusalDifferences(expected.error, failed.error),
      ...differences(expected.generate_wrapper_status ?? 'aborted', failed.status, `${name}.generate_wrapper_status`),
      ...differences(expected.requests, requests, `${name}.requests`),
    ];
  }
  if (result instanceof Error) return [`${name}: threw ${result.message}`];
  const done = result as RecurrentResult;
  const finished = done.status === 'completed' || done.status === 'truncated';
  const actual = {
    status: done.status,
    requests,
    turns: finished ? done.turns.map(turnOf) : null,
    final_output: done.finalOutput,
    response: done.finalOutput,
    rollout_log_probs: done.turns.at(-1)?.rolloutLogProbs ?? [],
    num_chunks: done.numChunks,
    context_truncated: done.contextTruncated,
    any_turn_truncated: done.anyTurnTruncated,
    memory_token_lengths: done.memoryTokenLengths,
    final_memory_tokens: done.finalMemoryTokens,
    final_memory: done.memories.at(-1),
    question,
    sample: run.flavour === 'relax' ? relaxSample(done, requests) : vimeSample(done, sent),
  };
  const found = differences(expected, project(expected, actual), name);
  return found.length > 0 && done.error !== undefined ? [`${name}: ${done.error.message}`, ...found] : found;
}

async function check(testCase: ConformanceCase, tokenizer: Tokenizer): Promise<string[]> {
  const input = testCase.input as Input;
  const thinking = input.enable_thinking ?? input.limits['enable_thinking'] ?? null;
  const relax: Run = {
    flavour: 'relax',
    givesText: true,
    evaluation: input.evaluation ?? false,
    enableThinking: thinking === null ? null : Boolean(thinking),
  };
  const vime: Run = { flavour: 'vime', givesText: false, evaluation: false, enableThinking: null };
  const runs: [string, Run][] = [
    ['expected', relax],
    ['expected_vime', vime],
    ['expected_vime_raw_text', { ...vime, givesText: true }],
  ];
  const found: string[] = [];
  for (const [name, run] of runs) {
    const expected = testCase[name] as Expected | null | undefined;
    if (expected === null || expected === undefined) continue;
    found.push(...(await checkRun(expected, name, input, run, tokenizer)));
  }
  return found;
}

/** Whole scripted trajectories of both references: requests, turns, memories, flags, aborts. */
export const trajectoriesChecker = tokenizerChecker('trajectories.json', check);
