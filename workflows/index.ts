/** Entry of the workflow bundle: every workflow type of this package, by name. */
export { memAgentPipeline } from './pipeline.js';
export { grpoRun } from './grpo-run.js';
export { pairedEvaluation } from './paired-evaluation.js';
