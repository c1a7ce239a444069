import type { HeardEnds, TrainingJobResult } from '../shared/contracts/activities.js';
import { classifyFailure } from './classify-failure.js';

/**
 * Since when nobody said how an arm's training job ended. Whoever follows a job may find out and be given up, or fail otherwise,
 * before it could tell; then the next one is asked for it. A failure that tells it, and a slice of a job that goes on, end that.
 */
export class UnheardEnds {
  private readonly known: HeardEnds;

  /** @param before as an earlier workflow run of the arm left it */
  constructor(before: HeardEnds = {}) {
    this.known = { ...before };
  }

  get state(): HeardEnds {
    return { ...this.known };
  }

  async ask(call: (state: HeardEnds) => Promise<TrainingJobResult>): Promise<TrainingJobResult> {
    const askedAt = Date.now();
    try {
      const result = await call(this.state);
      // One that only waits for the cluster did not look at the job.
      if (result.waitingFor === undefined) delete this.known.unheardSince;
      return result;
    } catch (error) {
      const { jobEnd } = classifyFailure(error);
      if (jobEnd === undefined) this.known.unheardSince ??= askedAt;
      else {
        delete this.known.unheardSince;
        this.known.heardEnd = jobEnd;
      }
      throw error;
    }
  }
}
