import type { CaseResult, Checker } from '../../../shared/conformance/types.js';
import { perCase } from '../../../shared/conformance/types.js';
import type { LossMetrics, LossOptions, NamedTensor, Policy } from '../policy-api.js';
import { GrpoLoss } from '../train/grpo-loss.js';
import { coefficient } from '../train/token-loss.js';
import { compareNumber, compareNumbers } from './compare.js';
import { casePolicy, type CaseRow, type KernelKind, l2Norm, policyRow, type SampledTensor } from './case-models.js';

/** Advice of the cases for float32 engines. */
const LOSS = { absolute: 3e-6, relative: 3e-6 };
const COEFFICIENT = { absolute: 2e-6 };
const LOG_PROBS = { absolute: 2e-5 };
const GRADIENT_NORM = { relative: 1e-5 };
const GRADIENT_NORMS = { relative: 2e-5, absolute: 1e-12 };
/** In units of the tensor's root mean square. */
const GRADIENT_SAMPLES = { absolute: 3e-4 };
const ADAMW = {
  loss: { absolute: 3e-6 },
  kl: { absolute: 5e-5 },
  gradientNorm: { relative: 5e-5 },
  samples: { absolute: 2e-6 },
  parameterNorms: { relative: 1e-6 },
  firstNorms: { relative: 1e-4 },
  secondNorms: { relative: 1.5e-4 },
};

const SCALARS = [
  ['policyLoss', 'policy_loss'],
  ['kl', 'kl'],
  ['loss', 'total_loss'],
  ['entropy', 'entropy'],
  ['clipFraction', 'clip_frac'],
  ['ppoKl', 'ppo_kl'],
] as const;

interface ExpectedLoss extends Record<(typeof SCALARS)[number][1], number> {
  grad_norm: number;
  grad_norms: number[];
  grad_samples?: number[][];
  dlogprob?: number[][];
}

interface GrpoCase {
  model: string;
  temperature: number;
  rows: CaseRow[];
  expected: Record<string, ExpectedLoss> & { logprobs: number[][]; num_tokens: number };
}

/** Options of the variants a case may expect. */
const VARIANTS: Readonly<Record<string, Pick<LossOptions, 'reduction' | 'clampKl'>>> = {
  sample_mean: { reduction: 'sample_mean' },
  token_mean: { reduction: 'token_mean' },
  sample_mean_kl_clamp10: { reduction: 'sample_mean', clampKl: true },
};

/** `grpo_loss.json`: loss, statistics and gradients of a batch, for each reduction. */
export function grpoChecker(kernels?: KernelKind): Checker {
  return {
    file: 'policy/grpo_loss.json',
    check: perCase(async (testCase, { document, directory }) => {
      const grpoCase = testCase as unknown as GrpoCase;
      const policy = await casePolicy(directory, grpoCase.model, kernels);
      const tensors = (document['params'] as Record<string, SampledTensor[]>)[grpoCase.model]!;
      const options = {
        clipLow: document['clip_low'] as number,
        clipHigh: document['clip_high'] as number,
        klCoefficient: document['kl_coef'] as number,
        temperature: grpoCase.temperature,
      };
      const lines = checkLogProbs(policy, grpoCase);
      for (const [variant, extra] of Object.entries(VARIANTS)) {
        const expected = grpoCase.expected[variant];
        if (expected === undefined) continue;
        const loss = { ...options, ...extra };
        const metrics = policy.computeGradients(grpoCase.rows.map(policyRow), loss);
        const found = checkVariant(metrics, policy.gradients(), expected, tensors);
        found.push(...checkCoefficients(grpoCase, loss, expected.dlogprob));
        lines.push(...found.map((line) => `${variant} ${line}`));
        if (metrics.trainedTokens !== grpoCase.expected.num_tokens)
          lines.push(`num_tokens: expected ${grpoCase.expected.num_tokens}, got ${metrics.trainedTokens}`);
      }
      return lines;
    }),
  };
}

function checkLogProbs(policy: Policy, { rows, temperature, expected }: GrpoCase): string[] {
  const logProbs = policy.logProbs(rows.map(policyRow), temperature);
  return logProbs.flatMap((values, row) =>
    compareNumbers(`logprobs[${row}]`, values, expected.logprobs[row]!, LOG_PROBS)
  );
}

function checkVariant(
  metrics: LossMetrics,
  gradients: readonly NamedTensor[],
  expected: ExpectedLoss,
  tensors: readonly SampledTensor[]
): string[] {
  const lines = SCALARS.flatMap(([ours, theirs]) => compareNumber(theirs, metrics[ours], expected[theirs], LOSS));
  lines.push(...compareNumber('grad_norm', metrics.gradientNorm, expected.grad_norm, GRADIENT_NORM));
  tensors.forEach(({ name, index }, i) => {
    const { data } = gradients.find((tensor) => tensor.name === name)!;
    const norm = l2Norm(data);
    lines.push(...compareNumber(`grad_norms ${name}`, norm, expected.grad_norms[i]!, GRADIENT_NORMS));
    const samples = expected.grad_samples?.[i];
    if (samples === undefined) return;
    const rms = norm / Math.sqrt(data.length);
    const actual = index.map((at) => data[at]! / rms);
    const wanted = samples.map((value) => value / rms);
    lines.push(...compareNumbers(`grad_samples ${name}`, actual, wanted, GRADIENT_SAMPLES));
  });
  return lines;
}

/** dL/dlogp of every response token, at the reference's log-probs. */
function checkCoefficients({ rows, expected }: GrpoCase, loss: LossOptions, wanted?: number[][]): string[] {
  if (wanted === undefined) return [];
  const policyRows = rows.map(policyRow);
  const grpo = new GrpoLoss(
    policyRows,
    policyRows.map((row) => row.refLogProbs!),
    loss
  );
  return policyRows.flatMap((row, index) => {
    const actual = new Float64Array(row.responseLength);
    const { targets, loss: terms } = grpo.scored[index]!;
    targets.forEach((position, target) => {
      const i = position - (row.tokens.length - row.responseLength);
      actual[i] = coefficient(terms, target, expected.logprobs[index]![i]!);
    });
    return compareNumbers(`dlogprob[${index}]`, actual, wanted[index]!, COEFFICIENT);
  });
}

interface AdamwStep {
  batch: number;
  loss: number;
  policy_loss: number;
  kl: number;
  grad_norm: number;
  param_norms: number[];
  exp_avg_norms: number[];
  exp_avg_sq_norms: number[];
  param_samples: number[][];
}

interface AdamwRun {
  model: string;
  batches: CaseRow[][];
  params: SampledTensor[];
  steps: AdamwStep[];
  final_loss: number[];
}

/** `adamw.json`: three updates in a row; weights and moments after each. */
export function adamwChecker(kernels?: KernelKind): Checker {
  return {
    file: 'policy/adamw.json',
    check: async (_cases, { document, directory }) => {
      const [beta1, beta2] = document['betas'] as [number, number];
      const optimizer = {
        learningRate: document['lr'] as number,
        beta1,
        beta2,
        epsilon: document['eps'] as number,
        weightDecay: document['weight_decay'] as number,
        gradientClip: document['clip_grad'] as number,
      };
      const results: CaseResult[] = [];
      for (const [id, run] of Object.entries(document['runs'] as Record<string, AdamwRun>)) {
        const policy = await casePolicy(directory, run.model, kernels);
        run.steps.forEach((step, i) => {
          const metrics = policy.trainStep(run.batches[step.batch]!.map(policyRow), ADAMW_LOSS, optimizer);
          results.push({ id: `${id} step ${i + 1}`, differences: checkStep(policy, metrics, step, run.params) });
        });
        const final = run.batches.map((rows) => policy.computeGradients(rows.map(policyRow), ADAMW_LOSS).loss);
        results.push({
          id: `${id} final_loss`,
          differences: compareNumbers('final_loss', final, run.final_loss, ADAMW.loss),
        });
      }
      return results;
    },
  };
}

/** The loss of the optimizer cases (their README). */
const ADAMW_LOSS: LossOptions = {
  clipLow: 0.2,
  clipHigh: 0.3,
  klCoefficient: 0.001,
  temperature: 1,
  reduction: 'sample_mean',
};

function checkStep(policy: Policy, metrics: LossMetrics, step: AdamwStep, params: readonly SampledTensor[]): string[] {
  const lines = [
    ...compareNumber('loss', metrics.loss, step.loss, ADAMW.loss),
    ...compareNumber('policy_loss', metrics.policyLoss, step.policy_loss, ADAMW.loss),
    ...compareNumber('kl', metrics.kl, step.kl, ADAMW.kl),
    ...compareNumber('grad_norm', metrics.gradientNorm, step.grad_norm, ADAMW.gradientNorm),
  ];
  const { first, second } = policy.optimizerState();
  const weights = policy.weights();
  params.forEach(({ name, index }, i) => {
    const of = (list: readonly NamedTensor[]): Float32Array => list.find((tensor) => tensor.name === name)!.data;
    const norm = (what: string, list: readonly NamedTensor[], wanted: number[], tolerance: object): void => {
      lines.push(...compareNumber(`${what} ${name}`, l2Norm(of(list)), wanted[i]!, tolerance));
    };
    norm('param_norms', weights, step.param_norms, ADAMW.parameterNorms);
    norm('exp_avg_norms', first, step.exp_avg_norms, ADAMW.firstNorms);
    norm('exp_avg_sq_norms', second, step.exp_avg_sq_norms, ADAMW.secondNorms);
    const samples = index.map((at) => of(weights)[at]!);
    lines.push(...compareNumbers(`param_samples ${name}`, samples, step.param_samples[i]!, ADAMW.samples));
  });
  return lines;
}
