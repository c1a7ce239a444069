import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import type { KernelKind, Offset } from './kernels/kernels.js';
import { simdAvailable } from './kernels/load.js';
import { loadPack } from './model/batch.js';
import { forward } from './model/forward.js';
import { headForward } from './model/head.js';
import { createModel, type Model, type ModelLimits, refreshWeights, slotFloats } from './model/model.js';
import { tensorProblems } from './model/tensor-problems.js';
import type {
  LossMetrics,
  LossOptions,
  NamedTensor,
  OptimizerOptions,
  Policy,
  PolicyOptions,
  PolicyRow,
  Qwen3Config,
  SupervisedRow,
} from './policy-api.js';
import { BatchGenerator } from './sample/generator.js';
import { PairGenerator } from './second/pair-generator.js';
import { SecondThread } from './second/thread.js';
import { checkPolicyRows, GrpoLoss } from './train/grpo-loss.js';
import { applyAdamw, clearGradients, requireFinite, sumGradients } from './train/optimizer.js';
import { Scorer } from './train/scorer.js';
import { checkSequences, type ScoredRow } from './train/scoring.js';
import type { RowLoss } from './train/token-loss.js';

export { loadQwen3, writeQwen3 } from './model/files.js';
export { tensorProblems } from './model/tensor-problems.js';

/** Most bytes for key/value caches beyond those of running sequences (they keep beginnings of prompts). */
const SPARE_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Makes a policy: reserves its memory once, sets the weights.
 *
 * @throws PipelineError CheckpointInvalid listing every missing, foreign, misshaped or non-finite tensor
 */
export async function createPolicy(options: PolicyOptions): Promise<Policy> {
  const { config } = options;
  const maxBatch = options.maxBatch ?? 64;
  const maxSequence = options.maxSequence ?? config.maxPositions;
  const kind = options.kernels ?? (simdAvailable() && simdShape(config) ? 'simd' : 'reference');
  if (kind !== 'reference' && !simdShape(config))
    throw new PipelineError(
      'CheckpointInvalid',
      'the SIMD kernels need hidden size, head_dim and mlp width in multiples of 4'
    );
  // Two threads have half of the sequences each.
  const perThread = options.threads === 2 ? Math.ceil(maxBatch / 2) : maxBatch;
  const slotBytes = 4 * slotFloats(config, maxSequence);
  const slots = perThread + Math.min(perThread, Math.floor(SPARE_CACHE_BYTES / slotBytes));
  const limits = { maxBatch: perThread, maxSequence, slots };
  const model = await createModel(config, limits, kind);
  const second = options.threads === 2 ? await SecondThread.start(model, limits) : null;
  const policy = new EmbeddedPolicy(model, limits, second);
  policy.setWeights(options.tensors);
  return policy;
}

function simdShape({ hiddenSize, headDim, intermediateSize }: Qwen3Config): boolean {
  return [hiddenSize, headDim, intermediateSize].every((width) => width % 4 === 0);
}

class EmbeddedPolicy implements Policy {
  readonly config: Qwen3Config;
  readonly kernels: KernelKind;
  readonly maxSequence: number;
  readonly generator: BatchGenerator | PairGenerator;
  private readonly scorer: Scorer;
  private step = 0;

  constructor(
    private readonly model: Model,
    limits: ModelLimits,
    second: SecondThread | null
  ) {
    this.config = model.config;
    this.kernels = model.kernels.kind;
    this.maxSequence = limits.maxSequence;
    const generator = new BatchGenerator(model, limits);
    this.generator = second === null ? generator : new PairGenerator(generator, second, limits.maxBatch);
    this.scorer = new Scorer(model, second);
  }

  logProbs(rows: readonly Pick<PolicyRow, 'tokens' | 'responseLength'>[], temperature: number): Float32Array[] {
    this.checkTokens(rows);
    const scored = rows.map(({ tokens, responseLength }) => ({
      tokens,
      targets: Array.from({ length: responseLength }, (_, i) => tokens.length - responseLength + i),
    }));
    const { logProbs } = this.scorer.score(scored, temperature, false);
    let token = 0;
    return rows.map(({ responseLength }) => logProbs.slice(token, (token += responseLength)));
  }

  logits(tokens: readonly number[]): Float32Array {
    this.checkTokens([{ tokens }]);
    const { workspace, kernels } = this.model;
    const { vocabSize } = this.config;
    const { head } = workspace;
    const pack = loadPack(this.model, [{ tokens, start: 0, end: tokens.length, queries: tokens.length }]);
    forward(this.model, pack);
    const out = new Float32Array(tokens.length * vocabSize);
    const rows = tokens.map((_, row) => row);
    for (let from = 0; from < rows.length; from += head.rows) {
      const count = Math.min(head.rows, rows.length - from);
      headForward(this.model, rows, from, count);
      for (let i = 0; i < count; i += 1) {
        const at = head.logits + i * head.ld;
        out.set(kernels.heap.subarray(at, at + vocabSize), (from + i) * vocabSize);
      }
    }
    return out;
  }

  computeGradients(rows: readonly PolicyRow[], loss: LossOptions, reference?: Policy): LossMetrics {
    checkPolicyRows(rows);
    this.checkTokens(rows);
    const references = this.referenceLogProbs(rows, loss, reference);
    const grpo = new GrpoLoss(rows, references, loss);
    clearGradients(this.model);
    const scores = this.scorer.score(grpo.scored, loss.temperature, true);
    const gradientNorm = sumGradients(this.model);
    const totalTokens = rows.reduce((sum, { tokens }) => sum + tokens.length, 0);
    return { ...grpo.totals(scores), gradientNorm, trainedTokens: scores.logProbs.length, totalTokens };
  }

  gradients(): NamedTensor[] {
    return this.read(this.model.gradients[0]!);
  }

  trainStep(
    rows: readonly PolicyRow[],
    loss: LossOptions,
    optimizer: OptimizerOptions,
    reference?: Policy
  ): LossMetrics {
    const metrics = this.computeGradients(rows, loss, reference);
    requireFinite(metrics.loss, metrics.gradientNorm);
    // Nothing to learn from: without this, momentum and decay would still move the weights.
    if (metrics.trainedTokens > 0) this.update(optimizer, metrics.gradientNorm);
    return metrics;
  }

  supervisedStep(rows: readonly SupervisedRow[], optimizer: OptimizerOptions): { loss: number; gradientNorm: number } {
    this.checkTokens(rows);
    const scored = rows.map(({ tokens, weights }): ScoredRow & { loss: RowLoss } => {
      const targets = tokens.flatMap((_, i) => (i > 0 && weights[i] ? [i] : []));
      return { tokens, targets, loss: { kind: 'supervised', weights: targets.map((i) => weights[i]!) } };
    });
    clearGradients(this.model);
    const { logProbs } = this.scorer.score(scored, 1, true);
    const loss = scored
      .flatMap((row) => row.loss.weights)
      .reduce((sum, weight, token) => sum - weight * logProbs[token]!, 0);
    const gradientNorm = sumGradients(this.model);
    requireFinite(loss, gradientNorm);
    this.update(optimizer, gradientNorm);
    return { loss, gradientNorm };
  }

  weights(): NamedTensor[] {
    return this.read(this.model.parameters.start);
  }

  setWeights(tensors: readonly NamedTensor[]): void {
    this.write(tensors, this.model.parameters.start, 'weights');
    refreshWeights(this.model);
    this.scorer.second?.weightsChanged();
    this.generator.flush();
  }

  optimizerState(): { step: number; first: NamedTensor[]; second: NamedTensor[] } {
    const { firstMoments, secondMoments } = this.model;
    return { step: this.step, first: this.read(firstMoments), second: this.read(secondMoments) };
  }

  setOptimizerState(state: { step: number; first: readonly NamedTensor[]; second: readonly NamedTensor[] }): void {
    if (!Number.isSafeInteger(state.step) || state.step < 0)
      throw new PipelineError('CheckpointInvalid', `optimizer step ${state.step} is not an integer ≥ 0`);
    this.write(state.first, this.model.firstMoments, 'first moments');
    this.write(state.second, this.model.secondMoments, 'second moments');
    this.step = state.step;
  }

  flushCache(): void {
    this.generator.flush();
  }

  async close(): Promise<void> {
    const { generator } = this;
    const { second } = this.scorer;
    this.scorer.second = null;
    if (generator instanceof PairGenerator) generator.single();
    await second?.end();
  }

  private update(optimizer: OptimizerOptions, gradientNorm: number): void {
    this.step += 1;
    applyAdamw(this.model, optimizer, gradientNorm, this.step);
    this.scorer.second?.weightsChanged();
    this.generator.flush();
  }

  private checkTokens(rows: readonly { tokens: readonly number[] }[]): void {
    checkSequences(
      this.model,
      rows.map(({ tokens }) => tokens),
      this.maxSequence
    );
  }

  private referenceLogProbs(rows: readonly PolicyRow[], loss: LossOptions, reference?: Policy): ArrayLike<number>[] {
    const missing = rows.filter((row) => row.refLogProbs === undefined);
    if (missing.length === 0) return rows.map((row) => row.refLogProbs!);
    if (reference === undefined && loss.klCoefficient !== 0)
      throw new PipelineError(
        'ConversionFailed',
        `${missing.length} rows have no reference log-probs and no reference policy was given`
      );
    // Without a KL term the old log-probs stand in, so that the reported KL is that to the sampling policy.
    const computed = reference?.logProbs(missing, loss.temperature) ?? missing.map((row) => row.oldLogProbs);
    let next = 0;
    return rows.map((row) => row.refLogProbs ?? computed[next++]!);
  }

  private read(start: Offset): NamedTensor[] {
    const { kernels, parameters } = this.model;
    return parameters.list.map(({ name, shape, length, offset }) => {
      const at = start + offset - parameters.start;
      return { name, shape, data: kernels.heap.slice(at, at + length) };
    });
  }

  private write(tensors: readonly NamedTensor[], start: Offset, what: string): void {
    const problems = tensorProblems(this.config, tensors);
    if (problems.length > 0)
      throw new PipelineError(
        'CheckpointInvalid',
        `${what} do not fit the model: ${problems.slice(0, 10).join('; ')}`,
        {
          problems: problems.slice(0, 50),
        }
      );
    const { kernels, parameters } = this.model;
    for (const { name, data } of tensors)
      kernels.heap.set(data, start + parameters.byName.get(name)!.offset - parameters.start);
  }
}
