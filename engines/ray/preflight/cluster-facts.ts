import { z } from 'zod';

/** What the preflight program prints; every part may say why it could not look. */
const error = z.string().optional();
const file = z.object({ bytes: z.number().optional(), sha256: z.string().optional(), error });

const node = z.object({
  address: z.string(),
  error,
  host: z.string().default('?'),
  checkout: z
    .object({
      commit: z.string().optional(),
      changed: z.array(z.string()).default([]),
      missing: z.array(z.string()).default([]),
      error,
    })
    .optional(),
  model: z.record(z.string(), file).default({}),
  data: file.optional(),
  marker: z.object({ text: z.string().optional(), error }).optional(),
  disk: z.object({ path: z.string(), bytes: z.number().optional(), error }).optional(),
  nvidia: z
    .object({
      gpus: z.array(z.object({ name: z.string(), totalMiB: z.number(), usedMiB: z.number() })).default([]),
      error,
    })
    .optional(),
  takenPorts: z.array(z.number()).default([]),
});

const clusterFacts = z.object({
  gpus: z.object({ total: z.number(), free: z.number() }),
  nodes: z.array(node).max(10_000),
});

export type NodeFacts = z.infer<typeof node>;
export type FileFacts = z.infer<typeof file>;
export type ClusterFacts = z.infer<typeof clusterFacts>;

const RESULT = 'MEMAGENT_PREFLIGHT_RESULT ';

/** @returns undefined when the output has no result: the program did not get that far */
export function clusterFactsIn(output: string): ClusterFacts | undefined {
  const line = output.split('\n').findLast((each) => each.startsWith(RESULT));
  if (line === undefined) return undefined;
  try {
    return clusterFacts.safeParse(JSON.parse(line.slice(RESULT.length))).data;
  } catch {
    return undefined;
  }
}
