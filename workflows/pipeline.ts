import { workflowInfo } from '@temporalio/workflow';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type { VerdictFacts } from '../shared/contracts/progress.js';
import { Pipeline } from './pipeline-run.js';

/** What a finished pipeline returns: where the run is and what came out. */
export interface PipelineResult {
  runDirectory: string;
  recipeHash: string;
  verdict: VerdictFacts;
  report: ArtifactRef;
  manifest: ArtifactRef;
}

/**
 * The whole chain: recipe → data → per arm smoke gate, full run and converted checkpoint → paired evaluation → verdict →
 * report. The argument is a recipe file's content; the workflow id names the run's directory.
 */
export async function memAgentPipeline(recipe: unknown): Promise<PipelineResult> {
  const pipeline = new Pipeline(workflowInfo().workflowId, recipe);
  return await pipeline.execute();
}
