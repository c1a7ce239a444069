import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Generator, NamedTensor, Policy, PolicyOptions, Qwen3Config } from '../policy-api.js';
import { createPolicy, loadQwen3 } from '../policy.js';
import type { ComputeCall, ComputeOptions, ModelFacts } from '../server/messages.js';
import { requireAbsolutePath, requireNumber, requireRecord } from './call-args.js';
import { exportModel, loadCheckpoint, saveCheckpoint } from './checkpoint.js';
import { checkedScoreCall } from './score-call.js';
import { requireSameModel } from './same-model.js';
import { checkedTrainCall, type TrainedFacts, trainOnRows } from './train-step.js';

/** Weights that were never named: SGLang's word for them. */
const DEFAULT_VERSION = 'default';

export interface ActorState {
  /** Updates applied to the base. */
  weights_version: number;
  /** Optimizer updates; fewer than `weights_version` when steps had nothing to train on. */
  optimizer_step: number;
}

/**
 * The policy with its version, its frozen reference and its calls. Lives in the compute thread. In mode `actor` the version is the
 * number of updates applied to the base; in mode `serve` it is a name.
 */
export class Actor {
  private updates = 0;
  private name = DEFAULT_VERSION;

  private constructor(
    private readonly policy: Policy,
    private readonly reference: Policy | undefined,
    private readonly base: readonly NamedTensor[],
    private readonly options: ComputeOptions,
    readonly facts: ModelFacts
  ) {}

  /** @throws PipelineError CheckpointInvalid naming the file */
  static async load(options: ComputeOptions): Promise<Actor> {
    const { config, tensors } = await loadQwen3(options.modelDir);
    const contextLength = Math.min(options.contextLength, config.maxPositions);
    const isActor = options.mode === 'actor';
    const policy = await createPolicy({
      config,
      tensors,
      maxSequence: contextLength,
      ...(options.maxBatch === undefined ? {} : { maxBatch: options.maxBatch }),
      ...computing(options),
    });
    const reference = isActor ? await loadReference(options, config, contextLength) : undefined;
    const facts: ModelFacts = {
      vocabSize: config.vocabSize,
      contextLength,
      parameters: tensors.reduce((sum, { data }) => sum + data.length, 0),
      kernels: policy.kernels,
    };
    return new Actor(policy, reference, isActor ? tensors : [], options, facts);
  }

  get generator(): Generator {
    return this.policy.generator;
  }

  get weightVersion(): string {
    return this.options.mode === 'actor' ? String(this.updates) : this.name;
  }

  async call(name: ComputeCall, args: unknown): Promise<unknown> {
    switch (name) {
      case 'state':
        return this.state();
      case 'train_step':
        return await this.trainStep(args);
      case 'save_checkpoint':
        return await this.saveCheckpoint(args);
      case 'export_model':
        return await this.exportModel(args);
      case 'score':
        return this.score(args);
      case 'load_checkpoint':
        return await this.loadCheckpoint(args);
      case 'reset':
        return this.reset();
      case 'update_weights':
        return await this.updateWeights(args as { modelPath: string; version?: string });
      case 'flush_cache':
        this.policy.flushCache();
        return null;
      case 'set_version':
        this.name = (args as { version: string }).version;
        return null;
    }
  }

  private state(): ActorState {
    return { weights_version: this.updates, optimizer_step: this.policy.optimizerState().step };
  }

  /** Refuses rows meant for other weights: training on them would be off-policy without anybody knowing. */
  private async trainStep(args: unknown): Promise<TrainedFacts & { step: number; weights_version: number }> {
    const call = checkedTrainCall(args);
    this.requireVersion(`step ${call.step}`, { ...call });
    const trained = await trainOnRows(call, this.policy, this.reference, this.facts.contextLength);
    this.updates += 1;
    return { step: call.step, weights_version: this.updates, ...trained };
  }

  private async saveCheckpoint(args: unknown): Promise<ActorState> {
    const fields = requireRecord('save_checkpoint', args);
    await saveCheckpoint(requireAbsolutePath('save_checkpoint', fields, 'dir'), {
      policy: this.policy,
      updates: this.updates,
      modelDir: this.options.modelDir,
      extra: fields['extra'] === undefined ? {} : requireRecord('save_checkpoint: extra', fields['extra']),
    });
    return this.state();
  }

  /** Writes the present weights as a Hugging Face model folder, for another engine to serve. */
  private async exportModel(args: unknown): Promise<ActorState> {
    const fields = requireRecord('export_model', args);
    this.requireVersion('export_model', fields);
    await exportModel(requireAbsolutePath('export_model', fields, 'dir'), this.policy, this.options.modelDir);
    return this.state();
  }

  /** Log-probs of responses under the present weights. */
  private score(args: unknown): { log_probs: number[][] } {
    const fields = requireRecord('score', args);
    this.requireVersion('score', fields);
    const { rows, temperature } = checkedScoreCall(fields, this.facts);
    return { log_probs: this.policy.logProbs(rows, temperature).map((row) => [...row]) };
  }

  private requireVersion(call: string, fields: Record<string, unknown>): void {
    const expected = requireNumber(call, fields, 'expected_weights_version', { least: 0, isInteger: true });
    if (expected === this.updates) return;
    throw new PipelineError(
      'EngineUnavailable',
      `${call} expects weights version ${expected}, the actor holds ${this.updates}: restore it first`
    );
  }

  private async loadCheckpoint(args: unknown): Promise<ActorState> {
    const dir = requireAbsolutePath('load_checkpoint', requireRecord('load_checkpoint', args), 'dir');
    this.updates = await loadCheckpoint(dir, this.policy);
    return this.state();
  }

  /** Back to the base: version 0, no moments. */
  private reset(): ActorState {
    const zeros = this.base.map((tensor) => ({ ...tensor, data: new Float32Array(tensor.data.length) }));
    this.policy.setWeights(this.base);
    this.policy.setOptimizerState({ step: 0, first: zeros, second: zeros });
    this.updates = 0;
    return this.state();
  }

  private async updateWeights({ modelPath, version }: { modelPath: string; version?: string }): Promise<null> {
    const { config, tensors } = await loadQwen3(modelPath);
    requireSameModel(this.policy.config, config, modelPath);
    this.policy.setWeights(tensors);
    if (version !== undefined) this.name = version;
    return null;
  }
}

async function loadReference(options: ComputeOptions, config: Qwen3Config, maxSequence: number): Promise<Policy> {
  const folder = options.referenceDir ?? options.modelDir;
  const frozen = await loadQwen3(folder);
  requireSameModel(config, frozen.config, folder);
  // It never generates: one key/value cache is the least there is.
  return await createPolicy({ ...frozen, maxSequence, maxBatch: 1, ...computing(options) });
}

function computing({ kernels, threads }: ComputeOptions): Pick<PolicyOptions, 'kernels' | 'threads'> {
  return { ...(kernels === undefined ? {} : { kernels }), ...(threads === undefined ? {} : { threads }) };
}
