import { z } from 'zod';

/** The parts of a recipe that describe machines other than the worker's own: the training cluster and the inference servers. */

const positiveInt = z.int().min(1);
const tokens = (text: string) => positiveInt.describe(`${text} Unit: tokens.`);
const environmentName = z.string().regex(/^[A-Z_][A-Z0-9_]{0,127}$/, 'capital letters, digits and underscore');
const httpUrl = (text: string) =>
  z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, 'an http or https URL without user name')
    .describe(text);

export const cluster = z.strictObject({
  gpus: positiveInt.default(8).describe('GPUs of one training job.'),
  tensorParallel: positiveInt.default(2).describe('GPUs that share one copy of the model; gpus / it = data parallel.'),
  engineContext: tokens('Context length of the rollout engine; one request is one turn.').default(8192),
  tokensPerGpu: tokens('Packing limit of one GPU in training.').default(9216),
  colocated: z.boolean().default(true).describe('Rollout and actor share the GPUs.'),
  staleness: z.int().min(0).default(0).describe('Steps that rollouts may lag behind the weights.'),
  address: httpUrl('Dashboard of the Ray cluster, where jobs are submitted.').default('http://127.0.0.1:8265'),
  tokenEnv: environmentName
    .optional()
    .describe('Name of the environment variable of the train worker that holds the dashboard’s bearer token.'),
  caFile: z.string().min(1).optional().describe('PEM file that vouches for the dashboard’s certificate.'),
  python: z.string().min(1).default('python3').describe('Python of the framework on the cluster.'),
  env: z
    .record(environmentName, z.string())
    .default({})
    .describe('More environment variables of the job. Ray shows them to everyone: no secrets.'),
  referenceCheckpoint: z
    .string()
    .min(1)
    .optional()
    .describe(
      'The base model in Megatron’s distributed format on shared storage; absent: the framework reads the Hugging Face files.'
    ),
  gpuMemoryGiB: z.number().min(0).default(0).describe('Memory that each GPU must have at least. Unit: GiB.'),
  freeDiskGiB: z.number().min(0).default(0).describe('Free space that shared storage must have at least. Unit: GiB.'),
  startMinutes: z
    .number()
    .positive()
    .default(60)
    .describe('Longest time from the job’s start to its first step. Unit: minutes.'),
  stepMinutes: z.number().positive().default(60).describe('Longest time between two steps. Unit: minutes.'),
});

export const serving = z.strictObject({
  engine: z.enum(['embedded', 'sglang', 'vllm']).describe('Server of the models; the same for base and arms.'),
  endpoint: httpUrl('A running server, instead of starting one.').optional(),
  tokenEnv: environmentName
    .optional()
    .describe('Name of the environment variable of the worker that holds the endpoint’s bearer token.'),
  command: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Program and first arguments that start the server; default: `python3 -m sglang.launch_server`, `vllm serve`.'
    ),
  args: z.array(z.string()).default([]).describe('More arguments of the server.'),
  env: z
    .record(environmentName, z.string())
    .default({})
    .describe('More environment variables of the server. No secrets.'),
  startSeconds: z.number().positive().default(900).describe('Longest time until the server answers. Unit: seconds.'),
});
