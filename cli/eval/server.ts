import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { checkServer } from '../../shared/evaluation/server-check.js';
import { createInferenceClient } from '../../shared/inference/client.js';
import type { InferenceClient, InferenceClientOptions, ServerFacts } from '../../shared/inference/types.js';
import { modelVocabulary } from '../../shared/tokenizer/model-vocabulary.js';
import type { EvalOptions } from './options.js';

/** A server that answered, and a client that names the model as the server does. */
export interface OpenServer {
  client: InferenceClient;
  facts: ServerFacts;
}

/** Somebody waits: an address where nothing is, is told after a second. The evaluation itself has more patience. */
const FIRST_LOOK = { attempts: 2 };

/** A reply has at most a few thousand tokens; to parse much more would hold everything else up. Unit: bytes. */
const LARGEST_REPLY = 16 * 1024 * 1024;

/**
 * Asks the server who it is.
 *
 * @throws PipelineError when it does not answer, or has another model or context length than was named; UserError for an API
 *   key that is not there
 */
export async function openServer(
  options: EvalOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal
): Promise<OpenServer> {
  const apiKey = apiKeyOf(options.apiKeyEnv, env);
  const settings: InferenceClientOptions = {
    protocol: options.protocol,
    endpoint: options.endpoint,
    concurrency: options.concurrency,
    maxBodyBytes: LARGEST_REPLY,
    timeoutMs: Math.ceil(options.timeout * 1000),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  const first = createInferenceClient({ ...settings, model: options.model, retry: FIRST_LOOK });
  try {
    const facts = await first.facts({ signal });
    checkServer(facts, { modelPath: options.model, contextLength: options.contextLength });
    const known = facts.servedNames.includes(options.model);
    const name = known ? options.model : (facts.servedNames[0] ?? options.model);
    return { facts, client: createInferenceClient({ ...settings, model: name }) };
  } finally {
    await first.close();
  }
}

function apiKeyOf(name: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (name === undefined) return undefined;
  const key = env[name];
  if (key !== undefined && key !== '') return key;
  throw new UserError(`the environment variable ${name} holds no API key`, {
    cure: `Set it, or leave --api-key-env out for a server without a key.`,
    exitCode: EXIT.usage,
  });
}

/**
 * Ids of the model, padding included: a tokenizer can have fewer.
 *
 * @returns undefined when neither the server nor a config.json of the model says it
 */
export async function modelVocabSize(facts: ServerFacts, options: EvalOptions): Promise<number | undefined> {
  if (facts.vocabSize !== null) return facts.vocabSize;
  for (const folder of [facts.modelPath ?? '', options.model, options.tokenizer]) {
    const size = await modelVocabulary(folder);
    if (size !== undefined) return size;
  }
  return undefined;
}

/**
 * Refuses token limits that no turn of which could ever fit the server's context.
 *
 * @throws UserError
 */
export function checkRoom(facts: ServerFacts, options: EvalOptions): void {
  const { contextLength } = facts;
  const { chunkTokens, memoryTokens, finalTokens, mode } = options;
  const needed = mode === 'base' ? finalTokens + 1 : chunkTokens + 2 * memoryTokens;
  if (contextLength === null || needed < contextLength) return;
  const what =
    mode === 'base'
      ? `--final-tokens ${finalTokens}`
      : `a memory turn with --chunk-tokens ${chunkTokens} and --memory-tokens ${memoryTokens} (read and written)`;
  throw new UserError(`${what} does not fit the server’s context of ${contextLength} tokens`, {
    cure: `Start the server with a context well above ${needed} tokens, or lower the limits.`,
    exitCode: EXIT.usage,
  });
}
