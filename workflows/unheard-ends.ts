import type { TrainingJobArgs, TrainingJobResult } from '../shared/contracts/activities.js';
import { classifyFailure } from './classify-failure.js';

/**
 * Since when nobody said how an arm's training job ended. Whoever follows a job may find out and be given up, or fail otherwise,
 * before it could tell; then the next one is asked for it. A failure that tells it, and a slice of a job that goes on, end that.
 */
export class UnheardEnds {
  constructor(private since: number | undefined) {}

  get unheard(): Pick<TrainingJobArgs, 'unheardSince'> {
    return this.since === undefined ? {} : { unheardSince: this.since };
  }

  async ask(
    call: (unheard: Pick<TrainingJobArgs, 'unheardSince'>) => Promise<TrainingJobResult>
  ): Promise<TrainingJobResult> {
    const askedAt = Date.now();
    try {
      const result = await call(this.unheard);
      // One that only waits for the cluster did not look at the job.
      if (result.waitingFor === undefined) this.since = undefined;
      return result;
    } catch (error) {
      this.since = classifyFailure(error).jobEnd === true ? undefined : (this.since ?? askedAt);
      throw error;
    }
  }
}
