import { SAMPLING_KEY_PARAM } from './sampling-key.js';
import { readJsonObject, sendJson, sendText } from './http.js';
import { RequestError } from './request-error.js';
import type { Handler, RouteTable } from './route-types.js';

/** The process answers and the compute thread has not ended (the process would have ended with it). */
const health: Handler = (_context, _request, response) => sendText(response, 200, '');

/** Like SGLang's: one token is really generated. 503 while generation is paused. */
const healthGenerate: Handler = async ({ compute, paused }, _request, response) => {
  if (paused) return sendText(response, 503, '');
  const key = { seed: 0, rolloutId: 0, prompt: 0, sample: 0, turn: 0 };
  const [made] = compute.generate([
    {
      id: `health-${process.hrtime.bigint()}`,
      promptIds: [0],
      maxNewTokens: 1,
      temperature: 0,
      topP: 1,
      topK: -1,
      stopTokenIds: [],
      samplingKey: key,
      topLogProbs: 0,
      promptLogProbsFrom: -1,
    },
  ]);
  const { result } = await made!;
  sendText(response, result.finish.type === 'length' ? 200 : 503, '');
};

const modelInfo: Handler = ({ compute, model, mode }, _request, response) =>
  sendJson(response, 200, {
    model_path: model.path,
    served_model_name: model.name,
    tokenizer_path: model.path,
    is_generation: true,
    preferred_sampling_params: null,
    weight_version: compute.weightVersion,
    load_format: 'auto',
    model_type: 'qwen3',
    architectures: ['Qwen3ForCausalLM'],
    // Ours: facts that a client would otherwise have to guess.
    vocab_size: compute.facts.vocabSize,
    context_length: compute.facts.contextLength,
    sampling_key: SAMPLING_KEY_PARAM,
    kernels: compute.facts.kernels,
    engine_mode: mode,
  });

const serverInfo: Handler = ({ compute, model, engineVersion }, _request, response) =>
  sendJson(response, 200, {
    version: engineVersion,
    context_length: compute.facts.contextLength,
    model_path: model.path,
    num_running_reqs: compute.inFlight,
  });

const models: Handler = ({ compute, model, startedAt }, _request, response) =>
  sendJson(response, 200, {
    object: 'list',
    data: [
      {
        id: model.name,
        object: 'model',
        created: startedAt,
        owned_by: 'memagent',
        root: model.name,
        parent: null,
        max_model_len: compute.facts.contextLength,
      },
    ],
  });

const tokenize: Handler = async ({ model, compute }, request, response) => {
  const { prompt } = await readJsonObject(request);
  if (typeof prompt !== 'string' || model.limits.encode === undefined)
    throw new RequestError(400, 'prompt must be a text, and the model needs a tokenizer.');
  const tokens = model.limits.encode(prompt);
  sendJson(response, 200, { tokens, count: tokens.length, max_model_len: compute.facts.contextLength });
};

const detokenize: Handler = async ({ model }, request, response) => {
  const { tokens } = await readJsonObject(request);
  if (!Array.isArray(tokens) || !tokens.every((id) => Number.isInteger(id) && (id as number) >= 0))
    throw new RequestError(400, 'tokens must be a list of token ids.');
  sendJson(response, 200, { text: model.decode(tokens as number[], false) });
};

/** What the engine says about itself. */
export const INFO_ROUTES: RouteTable = {
  '/health': { GET: health },
  '/health_generate': { GET: healthGenerate },
  '/model_info': { GET: modelInfo },
  '/get_model_info': { GET: modelInfo },
  '/server_info': { GET: serverInfo },
  '/get_server_info': { GET: serverInfo },
  '/v1/models': { GET: models },
  '/tokenize': { POST: tokenize },
  '/detokenize': { POST: detokenize },
};
