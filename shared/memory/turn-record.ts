import { PipelineError } from '../contracts/pipeline-error.js';
import type { Flavour, Turn } from '../contracts/trajectory.js';
import type { TurnRequest, TurnResponse } from './types.js';

/**
 * The record of one turn, checked.
 *
 * relax refuses a reply without tokens, over its cap, or (in training) whose log-probs do not pair with its tokens.
 * vime refuses nothing here; the missing log-probs of a server that gave none become zeros, as its client does.
 *
 * @throws PipelineError GenerationFailed naming the turn and the check
 */
export function turnRecord(
  request: TurnRequest,
  response: TurnResponse & { outputIds: number[] },
  rules: { flavour: Flavour; evaluation: boolean }
): Turn {
  const { outputIds, logProbs } = response;
  if (rules.flavour === 'relax') checkReply(request, response, rules.evaluation);
  const zeros = rules.flavour === 'vime' ? outputIds.map(() => 0) : [];
  return {
    turnIndex: request.turnIndex,
    kind: request.kind,
    tokens: request.promptIds.concat(outputIds),
    responseLength: outputIds.length,
    lossMask: new Array<number>(outputIds.length).fill(1),
    rolloutLogProbs: logProbs ?? zeros,
    finishReason: response.finish === 'length' ? 'truncated' : 'completed',
  };
}

function checkReply(
  request: TurnRequest,
  { outputIds, logProbs }: TurnResponse & { outputIds: number[] },
  evaluation: boolean
): void {
  const turn = `turn ${request.turnIndex} (${request.kind})`;
  if (outputIds.length === 0) throw new PipelineError('GenerationFailed', `${turn}: the reply has no token`);
  if (outputIds.length > request.maxNewTokens) {
    const counts = `${outputIds.length} tokens, its limit is ${request.maxNewTokens}`;
    throw new PipelineError('GenerationFailed', `${turn}: the reply has ${counts}`);
  }
  if (!evaluation && logProbs?.length !== outputIds.length) {
    const counts = `${logProbs?.length ?? 'no'} log-probs for ${outputIds.length} tokens`;
    throw new PipelineError('GenerationFailed', `${turn}: the reply has ${counts}`);
  }
}
