import { RayJobsClient } from '../engines/ray/jobs/client.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Recipe } from '../shared/contracts/recipe.js';

/**
 * A client of the recipe's cluster, with the token that this process's environment holds.
 *
 * @throws PipelineError RecipeInvalid when the environment does not have it; UserError when the certificate cannot be read
 */
export async function openClient(recipe: Recipe): Promise<RayJobsClient> {
  const { cluster } = recipe;
  if (cluster === undefined) throw new PipelineError('RecipeInvalid', 'cluster: missing: engine “ray” needs it');
  const { address, tokenEnv, caFile } = cluster;
  const token = tokenEnv === undefined ? undefined : process.env[tokenEnv];
  if (tokenEnv !== undefined && (token === undefined || token === '')) {
    const cure = `Set ${tokenEnv} in the environment of the train workers, or take cluster.tokenEnv out of the recipe.`;
    throw new PipelineError(
      'RecipeInvalid',
      `cluster.tokenEnv names ${tokenEnv}, which this worker’s environment does not have`,
      { cure }
    );
  }
  return await RayJobsClient.open({
    address,
    ...(token === undefined ? {} : { token }),
    ...(caFile === undefined ? {} : { caFile }),
  });
}
