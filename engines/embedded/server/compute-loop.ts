import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Actor } from '../actor/actor.js';
import { emptyResult } from './empty-result.js';
import type { ComputeCall, FromCompute, ToCompute } from './messages.js';

type CallMessage = Extract<ToCompute, { type: 'call' }>;

/**
 * The order of things in the compute thread. New requests join the running batch before its next token. A call that touches the
 * weights waits until the running sequences are done, and requests that came after it wait for it: every sequence is made by
 * one set of weights. While generation is paused a call would wait for ever: it runs at once when nothing is held, and one that
 * would change the weights under held sequences is refused.
 */
export class ComputeLoop {
  /** Messages not yet acted upon, in order of arrival; the first may be a call that waits for the batch to end. */
  private inbox: ToCompute[] = [];
  private paused = false;
  /** Sequences whose tokens are wanted as they come. */
  private readonly streamed = new Set<string>();
  private readonly inside = new Set<string>();

  constructor(
    private readonly actor: Actor,
    private readonly post: (message: FromCompute) => void,
    private readonly receive: () => ToCompute | undefined
  ) {}

  /** Takes what has come, then makes one token for every running sequence or runs one call. @returns false = nothing to do */
  async step(): Promise<boolean> {
    this.collect();
    const call = this.dispatch();
    const { generator } = this.actor;
    const canAdvance = !this.paused && generator.hasWork();
    if (call !== undefined && (!canAdvance || !touchesBatch(call))) {
      this.inbox.shift();
      await this.run(call);
      return true;
    }
    if (canAdvance) this.advance();
    return canAdvance;
  }

  /** Aborts and pauses act at once; the rest keeps its order. */
  private collect(): void {
    for (let message = this.receive(); message !== undefined; message = this.receive()) {
      if (message.type === 'abort') this.abort(message.ids);
      else if (message.type === 'pause') this.paused = message.paused;
      else this.inbox.push(message);
    }
  }

  /** Hands requests to the generator up to the first call, which is returned and stays first. */
  private dispatch(): CallMessage | undefined {
    for (let next = this.inbox[0]; next !== undefined; next = this.inbox[0]) {
      if (next.type === 'call') return next;
      this.inbox.shift();
      if (next.type === 'generate') this.submit(next);
    }
    return undefined;
  }

  private submit({ requests, streamed }: Extract<ToCompute, { type: 'generate' }>): void {
    for (const request of requests) {
      this.inside.add(request.id);
      if (streamed) this.streamed.add(request.id);
      this.actor.generator.submit(request);
    }
  }

  private advance(): void {
    const onToken = (id: string, tokenId: number, logProb: number): void => {
      if (this.streamed.has(id)) this.post({ type: 'token', id, tokenId, logProb });
    };
    const results = this.actor.generator.advance(this.streamed.size === 0 ? undefined : onToken);
    for (const { id } of results) {
      this.inside.delete(id);
      this.streamed.delete(id);
    }
    if (results.length > 0) this.post({ type: 'results', results, weightVersion: this.actor.weightVersion });
  }

  private abort(ids: string[] | 'all'): void {
    const wanted = ids === 'all' ? undefined : new Set(ids);
    for (const id of wanted ?? this.inside) this.actor.generator.abort(id);
    this.abortWaiting(wanted);
    // Paused, nothing would advance: the results of what was just aborted are taken out here.
    if (this.paused) this.advanceAborted();
  }

  /** Requests that still stand behind a call never reached the generator. */
  private abortWaiting(wanted: ReadonlySet<string> | undefined): void {
    for (const message of this.inbox) {
      if (message.type !== 'generate') continue;
      const isAborted = (id: string): boolean => wanted === undefined || wanted.has(id);
      const results = message.requests
        .filter(({ id }) => isAborted(id))
        .map(({ id }) => emptyResult(id, { type: 'abort' }));
      message.requests = message.requests.filter(({ id }) => !isAborted(id));
      if (results.length > 0) this.post({ type: 'results', results, weightVersion: this.actor.weightVersion });
    }
  }

  private advanceAborted(): void {
    const { generator } = this.actor;
    if (generator.running + generator.waiting === 0 && generator.hasWork()) this.advance();
  }

  private requireNothingHeld(): void {
    const { running, waiting } = this.actor.generator;
    if (running + waiting === 0) return;
    throw new PipelineError(
      'EngineUnavailable',
      `generation is paused and holds ${running + waiting} requests of the old weights: continue or abort them first`
    );
  }

  private async run({ call, name, args }: CallMessage): Promise<void> {
    try {
      if (this.paused && changesWeights(name)) this.requireNothingHeld();
      const value = await this.actor.call(name, args);
      this.post({ type: 'return', call, value, weightVersion: this.actor.weightVersion });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const failureType = error instanceof PipelineError ? { failureType: error.type } : {};
      this.post({ type: 'throw', call, message, status: statusOf(error), ...failureType });
    }
  }
}

function touchesBatch({ name }: CallMessage): boolean {
  return changesWeights(name) || name === 'flush_cache' || name === 'set_version';
}

function changesWeights(name: ComputeCall): boolean {
  return name === 'train_step' || name === 'load_checkpoint' || name === 'reset' || name === 'update_weights';
}

/** A wrong weights version is a conflict, other failures of the table are errors of the call, anything else is ours. */
function statusOf(error: unknown): number {
  if (!(error instanceof PipelineError)) return 500;
  if (error.type === 'EngineUnavailable') return 409;
  return error.type === 'StorageFailed' ? 500 : 400;
}
