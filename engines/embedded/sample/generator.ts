import { loadPack, type Segment } from '../model/batch.js';
import { forward } from '../model/forward.js';
import { headForward, headLogProb, headSoftmax } from '../model/head.js';
import type { Model } from '../model/model.js';
import { PACK_TOKENS } from '../model/workspace.js';
import type { GenerationRequest, GenerationResult, Generator, OnToken } from '../policy-api.js';
import { chooseToken, topTokens } from './choose.js';
import { type Candidates, candidateBuffer } from './filters.js';
import { requestProblem, type Sequence, sequenceResult, startSequence } from './request.js';
import { commonLength, SlotTable } from './slots.js';

/** One wanted row of the last layer's output: the prompt token to score, or the place to draw the next token. */
interface Wanted {
  sequence: Sequence;
  /** Index into the prompt of the token to score; −1 = draw. */
  promptIndex: number;
}

export interface GeneratorLimits {
  maxBatch: number;
  maxSequence: number;
  slots: number;
}

/** Continuous batching over one model: see the Generator interface. */
export class BatchGenerator implements Generator {
  private queue: Sequence[] = [];
  private active: Sequence[] = [];
  private ended: Sequence[] = [];
  private readonly slots: SlotTable;
  private readonly buffer: Candidates;

  constructor(
    private readonly model: Model,
    private readonly limits: GeneratorLimits
  ) {
    this.slots = new SlotTable(model, limits.slots, limits.maxSequence);
    this.buffer = candidateBuffer(model.config.vocabSize);
  }

  get running(): number {
    return this.active.length;
  }

  get waiting(): number {
    return this.queue.length;
  }

  hasWork(): boolean {
    return this.queue.length + this.active.length + this.ended.length > 0;
  }

  submit(request: GenerationRequest): void {
    const sequence = startSequence(request);
    const problem = requestProblem(request, this.model.config, this.limits.maxSequence);
    if (problem !== null) {
      this.ended.push(sequence);
      sequence.finish = { type: 'error', message: problem };
    } else {
      this.queue.push(sequence);
    }
  }

  abort(id: string): boolean {
    const waiting = this.queue.findIndex((sequence) => sequence.request.id === id);
    if (waiting >= 0) {
      const [sequence] = this.queue.splice(waiting, 1);
      this.end(sequence!, { type: 'abort' });
      return true;
    }
    const sequence = this.active.find((candidate) => candidate.request.id === id);
    if (sequence === undefined) return false;
    this.end(sequence, { type: 'abort' });
    this.active = this.active.filter((candidate) => candidate !== sequence);
    return true;
  }

  advance(onToken?: OnToken): GenerationResult[] {
    const decoding = this.active;
    const admitted = this.queue.splice(0, Math.max(0, this.limits.maxBatch - decoding.length));
    this.active = [...decoding, ...admitted];
    this.decode(decoding, onToken);
    for (const wave of this.waves(admitted)) this.prefill(wave, onToken);
    this.active = this.active.filter((sequence) => sequence.finish === null);
    const results = this.ended.map(sequenceResult);
    this.ended = [];
    return results;
  }

  /** Keys and values of earlier weights must not be lent to new prompts. */
  flush(): void {
    this.slots.flush();
  }

  /** Splits new prompts in two: those computed first, and those that share half or more of one of these and come after. */
  private waves(admitted: readonly Sequence[]): Sequence[][] {
    const first: Sequence[] = [];
    const second: Sequence[] = [];
    for (const sequence of admitted) {
      const { tokens } = sequence;
      const shares = first.some((other) => 2 * commonLength(tokens, other.tokens, tokens.length) >= tokens.length);
      (shares ? second : first).push(sequence);
    }
    return [first, second];
  }

  /** Packs prompts until the pack is full, computes them, and draws their first tokens. */
  private prefill(wave: readonly Sequence[], onToken?: OnToken): void {
    let segments: Segment[] = [];
    let wanted: Wanted[] = [];
    let tokens = 0;
    const flush = (): void => {
      if (segments.length > 0) this.run(segments, wanted, onToken);
      [segments, wanted, tokens] = [[], [], 0];
    };
    for (const sequence of wave) {
      const segment = this.promptSegment(sequence);
      const count = segment.end - segment.start;
      if (tokens + count > PACK_TOKENS) flush();
      segments.push(segment);
      for (let position = segment.end - segment.queries; position < segment.end - 1; position += 1)
        wanted.push({ sequence, promptIndex: position + 1 });
      wanted.push({ sequence, promptIndex: -1 });
      tokens += count;
    }
    flush();
  }

  private promptSegment(sequence: Sequence): Segment {
    const { tokens, request } = sequence;
    const end = tokens.length;
    const scoredFrom = request.promptLogProbsFrom;
    // The row before the first scored token predicts it, so sharing must end there.
    const queriesFrom = scoredFrom < 0 ? end - 1 : Math.max(0, Math.min(scoredFrom - 1, end - 1));
    if (scoredFrom === 0) {
      sequence.promptLogProbs.push(null);
      sequence.promptTop.push(null);
    }
    const slot = this.slots.acquire(tokens, queriesFrom);
    sequence.slot = slot;
    return { tokens, start: slot.ready, end, queries: end - queriesFrom, cache: slot.cache };
  }

  private decode(sequences: readonly Sequence[], onToken?: OnToken): void {
    if (sequences.length === 0) return;
    const segments = sequences.map(({ tokens, slot }): Segment => {
      return { tokens, start: tokens.length - 1, end: tokens.length, queries: 1, cache: slot!.cache };
    });
    const wanted = sequences.map((sequence): Wanted => ({ sequence, promptIndex: -1 }));
    this.run(segments, wanted, onToken);
  }

  /** Forward of the segments, then every wanted row in blocks of the head. */
  private run(segments: readonly Segment[], wanted: readonly Wanted[], onToken?: OnToken): void {
    const { model } = this;
    const pack = loadPack(model, segments);
    forward(model, pack);
    for (const { sequence } of wanted) sequence.slot!.ready = sequence.tokens.length;
    const rows = wanted.map((_, i) => i);
    const block = model.workspace.head.rows;
    for (let from = 0; from < wanted.length; from += block) {
      const part = wanted.slice(from, from + block);
      headForward(model, rows, from, part.length);
      this.softmaxRuns(part);
      part.forEach((want, row) => this.take(want, row, onToken));
    }
  }

  /** Rows with equal temperature are neighbours most of the time: one kernel call a run. Prompt log-probs are unscaled. */
  private softmaxRuns(part: readonly Wanted[]): void {
    const temperature = ({ sequence, promptIndex }: Wanted): number =>
      promptIndex >= 0 ? 1 : sequence.request.temperature;
    for (let from = 0; from < part.length;) {
      const t = temperature(part[from]!);
      let to = from + 1;
      while (to < part.length && temperature(part[to]!) === t) to += 1;
      headSoftmax(this.model, from, to - from, t);
      from = to;
    }
  }

  private take({ sequence, promptIndex }: Wanted, row: number, onToken?: OnToken): void {
    const { request, tokens } = sequence;
    if (promptIndex >= 0) {
      sequence.promptLogProbs.push(headLogProb(this.model, row, tokens[promptIndex]!, 1));
      sequence.promptTop.push(topTokens(this.model, row, 1, request.topLogProbs, this.buffer));
      return;
    }
    if (request.maxNewTokens === 0) return this.end(sequence, { type: 'length' });
    const chosen = chooseToken(this.model, row, request, sequence.logProbs.length, this.buffer);
    if (chosen === null) return this.end(sequence, { type: 'error', message: 'the logits are not finite' });
    tokens.push(chosen.id);
    sequence.logProbs.push(chosen.logProb);
    sequence.top.push(chosen.top);
    onToken?.(request.id, chosen.id, chosen.logProb);
    if (sequence.stop.has(chosen.id)) this.end(sequence, { type: 'stop', matched: chosen.id });
    else if (sequence.logProbs.length >= request.maxNewTokens || tokens.length >= this.limits.maxSequence)
      this.end(sequence, { type: 'length' });
  }

  private end(sequence: Sequence, finish: GenerationResult['finish']): void {
    sequence.finish = finish;
    if (sequence.slot !== null) this.slots.release(sequence.slot);
    this.ended.push(sequence);
  }
}
