import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseGenerate, type ServerLimits } from '../../../../engines/embedded/server/parse-generate.js';
import { RequestError } from '../../../../engines/embedded/server/request-error.js';

const LIMITS: ServerLimits = {
  vocabSize: 512,
  contextLength: 64,
  eosTokenIds: [258],
  encode: (text) => [...Buffer.from(text)],
};

/** Values near the ones that are meant, of every kind. */
const oddValue = fc.oneof(
  fc.jsonValue(),
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, -1, 0, 1e308, '', 'NaN', [], {})
);
const ids = fc.array(fc.oneof(fc.integer({ min: -2, max: 600 }), oddValue), { maxLength: 70 });
const params = fc.dictionary(
  fc.constantFrom(
    'temperature',
    'top_p',
    'top_k',
    'n',
    'max_new_tokens',
    'stop_token_ids',
    'custom_params',
    'stop',
    'sampling_seed',
    'x'
  ),
  fc.oneof(oddValue, fc.record({ memagent_key: oddValue })),
  { maxKeys: 3 }
);
const body = fc.record(
  {
    input_ids: fc.oneof(ids, fc.array(ids, { maxLength: 4 }), oddValue),
    text: oddValue,
    rid: oddValue,
    sampling_params: fc.oneof(params, fc.array(params, { maxLength: 4 }), oddValue),
    return_logprob: oddValue,
    logprob_start_len: oddValue,
    top_logprobs_num: oddValue,
    stream: oddValue,
  },
  { requiredKeys: [] }
);

describe('reading a /generate body', () => {
  it('either refuses it with a message, or gives sequences that the policy can run', () => {
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (value) => {
        let parsed;
        try {
          parsed = parseGenerate(value, LIMITS);
        } catch (error) {
          expect(error).toBeInstanceOf(RequestError);
          expect((error as RequestError).status).toBe(400);
          return;
        }
        for (const item of parsed.items) {
          if (item instanceof RequestError) continue;
          const { promptIds, maxNewTokens, temperature, topP, topK, promptLogProbsFrom, topLogProbs } = item.request;
          expect(promptIds.length).toBeGreaterThan(0);
          expect(promptIds.every((id) => Number.isInteger(id) && id >= 0 && id < 512)).toBe(true);
          expect(promptIds.length + maxNewTokens).toBeLessThanOrEqual(64);
          expect(Number.isFinite(temperature) && temperature >= 0 && topP > 0 && topP <= 1).toBe(true);
          expect(topK === -1 || topK >= 1).toBe(true);
          expect(promptLogProbsFrom).toBeLessThanOrEqual(promptIds.length);
          expect(topLogProbs).toBeLessThanOrEqual(512);
        }
      }),
      { numRuns: 2000 }
    );
  });

  it('prefers token ids to a text, as the original does', () => {
    const parsed = parseGenerate({ text: 'a', input_ids: [5, 6], sampling_params: { max_new_tokens: 1 } }, LIMITS);
    expect(parsed.items).toMatchObject([{ request: { promptIds: [5, 6] } }]);
  });

  it('takes per-item fields of a batch by their place, and one value for all otherwise', () => {
    const parsed = parseGenerate(
      {
        input_ids: [[1], [2]],
        sampling_params: [{ max_new_tokens: 3 }, { max_new_tokens: 4, temperature: 0 }],
        rid: ['a', 'b'],
        return_logprob: [true, false],
        top_logprobs_num: 2,
      },
      LIMITS
    );
    expect(parsed.single).toBe(false);
    expect(parsed.items).toMatchObject([
      { wantLogProbs: true, request: { id: 'a', maxNewTokens: 3, temperature: 1, topLogProbs: 2 } },
      { wantLogProbs: false, request: { id: 'b', maxNewTokens: 4, temperature: 0, topLogProbs: 0 } },
    ]);
  });
});
