import { LOG_SOFTMAX_STATS } from '../kernels/kernels.js';
import { headLogProb } from '../model/head.js';
import type { Model } from '../model/model.js';
import type { GenerationRequest, TopLogProb } from '../policy-api.js';
import { argmax, type Candidates, drawCandidate, drawUnfiltered, filterCandidates } from './filters.js';
import { tokenUniform } from './random.js';

export interface ChosenToken {
  id: number;
  logProb: number;
  top: TopLogProb[];
}

/**
 * Chooses the next token from row `row` of the head's logits, after `headSoftmax` at the request's temperature.
 *
 * @param position index of the token within the response
 * @returns null when the logits are not finite
 */
export function chooseToken(
  model: Model,
  row: number,
  request: GenerationRequest,
  position: number,
  buffer: Candidates
): ChosenToken | null {
  const { kernels, workspace, config } = model;
  const { head } = workspace;
  const { temperature, topP, topK } = request;
  const stats = head.stats + row * LOG_SOFTMAX_STATS;
  if (!Number.isFinite(kernels.heap[stats]!) || !Number.isFinite(kernels.heap[stats + 1]!)) return null;
  const logitsAt = head.logits + row * head.ld;
  const expsAt = head.exps + row * head.ld;
  const vocab = config.vocabSize;
  let id: number;
  if (temperature === 0) {
    id = argmax(kernels.heap, logitsAt, vocab);
  } else {
    const uniform = tokenUniform(request.samplingKey, position);
    if (topP >= 1 && topK < 1) {
      id = drawUnfiltered(kernels.heap, expsAt, vocab, uniform);
    } else {
      filterCandidates(kernels.heap, logitsAt, kernels.heap, expsAt, vocab, { temperature, topP, topK }, buffer);
      id = drawCandidate(buffer, uniform);
    }
  }
  const logProb = headLogProb(model, row, id, temperature);
  return { id, logProb, top: topTokens(model, row, temperature, request.topLogProbs, buffer) };
}

/** The `count` most probable tokens of a row with their log-probs, before any filter. */
export function topTokens(
  model: Model,
  row: number,
  temperature: number,
  count: number,
  buffer: Candidates
): TopLogProb[] {
  if (count === 0) return [];
  const { kernels, workspace, config } = model;
  const { head } = workspace;
  const options = { temperature: temperature === 0 ? 1 : temperature, topP: 1, topK: count };
  const [logitsAt, expsAt] = [head.logits + row * head.ld, head.exps + row * head.ld];
  filterCandidates(kernels.heap, logitsAt, kernels.heap, expsAt, config.vocabSize, options, buffer);
  return Array.from(buffer.ids.subarray(0, buffer.count), (id) => ({
    id,
    logProb: headLogProb(model, row, id, temperature),
  }));
}
