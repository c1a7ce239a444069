import { PipelineError } from '../../../shared/contracts/pipeline-error.js';

/**
 * Ray could not be asked: refused, broken off, silent, a gateway in between, an answer that is none of its own. Says nothing
 * about any job: who gets it may neither stop a job nor take it for lost.
 */
export class CouldNotLook extends PipelineError {
  constructor(where: string, problem: string, options?: { cause?: unknown }) {
    super(
      'EngineUnavailable',
      `${where}: ${problem}`,
      {
        where,
        cure: 'Look whether the cluster’s head and its dashboard run at the recipe’s cluster.address; jobs are left as they are.',
      },
      options
    );
  }
}

/** Ray answered, and refused: a request that would be refused again. */
export class RayRefused extends PipelineError {
  constructor(
    where: string,
    readonly status: number,
    problem: string
  ) {
    super('EngineUnavailable', `${where}: Ray refused with status ${status}: ${problem}`, { where });
  }
}
