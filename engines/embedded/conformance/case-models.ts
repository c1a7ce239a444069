import { join } from 'node:path';
import { createPolicy, loadQwen3 } from '../policy.js';
import type { KernelKind, Policy, PolicyRow } from '../policy-api.js';

export type { KernelKind };

/** Context for the case models: their longest sequence has 200 tokens. */
const MAX_SEQUENCE = 256;

/** A fresh policy with the weights of a model folder beside the case file. @param kernels default: what the engine would take */
export async function casePolicy(directory: string, model: string, kernels?: KernelKind): Promise<Policy> {
  const { config, tensors } = await loadQwen3(join(directory, model));
  return createPolicy({ config, tensors, maxSequence: MAX_SEQUENCE, maxBatch: 8, ...(kernels ? { kernels } : {}) });
}

/** A training row as the case files write it. */
export interface CaseRow {
  tokens: number[];
  response_length: number;
  loss_mask: number[];
  old_logprobs: number[];
  ref_logprobs: number[];
  advantage: number;
}

export function policyRow(row: CaseRow): PolicyRow {
  return {
    tokens: row.tokens,
    responseLength: row.response_length,
    lossMask: row.loss_mask,
    oldLogProbs: row.old_logprobs,
    refLogProbs: row.ref_logprobs,
    advantage: row.advantage,
  };
}

/** A tensor and the flat indexes at which the case file gives its values. */
export interface SampledTensor {
  name: string;
  index: number[];
}

export function l2Norm(data: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < data.length; i += 1) sum += data[i]! ** 2;
  return Math.sqrt(sum);
}
