import type { Checkout } from '../helpers/framework-checkouts.js';
import type { RayHead } from '../helpers/ray-head.js';
import { tinyRecipe } from './support.js';

/** The tiny laptop task, trained by jobs of the imitating programs on a real Ray head. */
export function rayRecipe(
  head: RayHead,
  checkouts: Record<'relax' | 'vime', Checkout>,
  root: string,
  tag: string,
  changes: { env?: Record<string, string>; [key: string]: unknown } = {}
): Record<string, unknown> {
  const { env = {}, ...rest } = changes;
  const arm = (flavour: 'relax' | 'vime'): Record<string, unknown> => ({
    flavour,
    repo: `https://example.org/${flavour}`,
    ...checkouts[flavour],
  });
  return tinyRecipe(root, tag, {
    engine: 'ray',
    model: { path: 'models/laptop', id: 'example/laptop', revision: '2'.repeat(40) },
    arms: { relax: arm('relax'), vime: arm('vime') },
    grpo: { steps: 4, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 2 },
    cluster: {
      address: head.address,
      gpus: 1,
      tensorParallel: 1,
      engineContext: 128,
      python: head.python,
      env: { IMITATE_STEP_SECONDS: '0.02', ...env },
    },
    serving: { engine: 'embedded' },
    onHalt: 'fail',
    ...rest,
  });
}
