import { Context } from '@temporalio/activity';
import type { TrainingJobArgs, TrainingJobResult } from '../../shared/contracts/activities.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { BookKeeping, testRecipe } from './support.js';

/** A framework's arm, as a recipe of the job engine names it. */
export function jobArm(flavour: 'relax' | 'vime'): object {
  return { flavour, repo: `https://example.org/${flavour}`, commit: '2'.repeat(40), path: `/${flavour}` };
}

/** One arm of four steps that jobs train. */
export function jobRecipe(changes: Record<string, unknown> = {}): Recipe {
  return testRecipe({
    engine: 'ray',
    model: { id: 'example/model', revision: '1'.repeat(40) },
    arms: { relax: jobArm('relax') },
    cluster: { gpus: 1, tensorParallel: 1 },
    serving: { engine: 'sglang' },
    onHalt: 'fail',
    ...changes,
  });
}

/** What a training job says of a slice; `silent`: its follower is gone, as with its worker. Undefined members: as usual. */
export type JobAnswer = Partial<TrainingJobResult> | Error | 'silent';

/** Bookkeeping whose training job answers what the test says. */
export class JobBooks extends BookKeeping {
  readonly asked: TrainingJobArgs[] = [];
  readonly stops: object[] = [];
  /** Steps that are done, by training run. */
  private readonly done = new Map<string, number>();

  /** @param answer call counts the slices of both phases, from 1 */
  constructor(
    recipe: Recipe,
    private readonly answer: (args: TrainingJobArgs, call: number) => JobAnswer = () => ({}),
    options: BookKeeping['options'] = {}
  ) {
    super(recipe, options);
  }

  override all(): ReturnType<BookKeeping['all']> {
    const usual = super.all();
    return {
      ...usual,
      openArm: async (args) => {
        const opened = await usual.openArm(args);
        if (this.options.resumes !== true) return opened;
        const nextStep = this.done.get(`${args.phase}-${args.arm}`) ?? 0;
        return { ...opened, nextStep, rewards: Array.from({ length: nextStep }, () => 0.5) };
      },
      stopEngine: async (args) => {
        this.stops.push({ phase: args.phase, ...(args.onlyIfOver === undefined ? {} : { onlyIfOver: true }) });
        await usual.stopEngine(args);
      },
      runTrainingJob: async (args) => {
        this.asked.push(args);
        const answer = this.answer(args, this.asked.length);
        // No heartbeat is ever sent: the server finds out by itself.
        if (answer === 'silent') return await Context.current().cancelled;
        if (answer instanceof Error) this.faults.set('runTrainingJob', [answer]);
        const result = { ...(await usual.runTrainingJob(args)), ...(answer instanceof Error ? {} : answer) };
        this.done.set(`${args.phase}-${args.arm}`, result.steps);
        return result;
      },
    };
  }
}
