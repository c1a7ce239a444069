import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatasetRow } from '../../../shared/contracts/dataset.js';
import type { EvaluateOptions } from '../../../shared/evaluation/evaluator.js';
import { createInferenceClient } from '../../../shared/inference/client.js';
import type { InferenceClient, InferenceClientOptions } from '../../../shared/inference/types.js';
import { packageRoot } from '../../../shared/runtime/entry.js';
import { loadTokenizer } from '../../../shared/tokenizer/tokenizer.js';
import { startServer, type StartedServer } from '../../fixtures/servers/start.js';

export const LIMITS = { chunkTokens: 24, memoryTokens: 16, finalTokens: 8, maxChunks: 3 };

/** Context of `facts` facts of three tokens each. */
export function contextOf(facts: number): string {
  return Array.from({ length: facts }, (_, i) => `amber=${i % 100};\n`)
    .join('')
    .trim();
}

export function rowOf(item: number, facts: number): DatasetRow {
  return {
    prompt: 'amber=',
    label: '47',
    metadata: {
      question: 'amber=',
      context: contextOf(facts + (item % 2)),
      ground_truth: ['47', '48'],
      num_docs: null,
      data_source: 'test',
    },
  };
}

export interface ControlFacts {
  /** Requests of each `item/sample`. */
  asked: Record<string, number>;
  generated: number;
  mostOpen: number;
}

/** A folder, a data set and a model that answers 47, 48 or 49, in the laptop's tokens. */
export class Bench {
  private readonly clients: InferenceClient[] = [];

  private constructor(
    readonly folder: string,
    readonly server: StartedServer,
    readonly tokenizer: EvaluateOptions['tokenizer']
  ) {}

  static async start(settings: { latencyMs?: number } = {}): Promise<Bench> {
    const tokenizer = await loadTokenizer(join(packageRoot(), 'models/laptop'));
    const replies = ['47', '48', '49'].map((value) => tokenizer.encode(`\\boxed{${value}}`));
    const server = await startServer('eval-server.mjs', [
      JSON.stringify({ replies, eos: tokenizer.eosTokenIds[0], ...settings }),
    ]);
    return new Bench(await mkdtemp(join(tmpdir(), 'memagent-evaluation-')), server, tokenizer);
  }

  async writeData(items: number, facts = 16, name = 'data.jsonl'): Promise<string> {
    const path = join(this.folder, name);
    const rows = Array.from({ length: items }, (_, item) => `${JSON.stringify(rowOf(item, facts))}\n`);
    await writeFile(path, rows.join(''));
    return path;
  }

  client(options: Partial<InferenceClientOptions> = {}): InferenceClient {
    const client = createInferenceClient({
      protocol: 'sglang',
      endpoint: this.server.address,
      retry: { attempts: 2, baseDelayMs: 1 },
      ...options,
    });
    this.clients.push(client);
    return client;
  }

  options(dataPath: string, out: string, change: Partial<EvaluateOptions> = {}): EvaluateOptions {
    return {
      dataPath,
      dataName: 'data.jsonl',
      samplesPath: join(this.folder, out, 'm.jsonl'),
      summaryPath: join(this.folder, out, 'm.summary.json'),
      client: this.client(),
      tokenizer: this.tokenizer,
      modelName: 'm',
      tokenizerName: 'laptop',
      limits: LIMITS,
      enableThinking: null,
      temperature: 0.7,
      topP: 0.95,
      concurrency: 4,
      seed: 11,
      ...change,
    };
  }

  async control(change: object = {}): Promise<ControlFacts> {
    const reply = await fetch(`${this.server.address}/control`, { method: 'POST', body: JSON.stringify(change) });
    return (await reply.json()) as ControlFacts;
  }

  async stop(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
