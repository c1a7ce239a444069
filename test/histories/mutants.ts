/** A change of the workflow code that running workflows would not survive. */
export interface Mutant {
  name: string;
  /** Compiled text to find, exactly once, and what to put there. */
  find: RegExp;
  put: string;
  /** Histories that must no longer replay. */
  breaks: string[];
}

const CONVERT = /const converted = await this\.call\('convertRollouts'[\s\S]*?\]\)\);/;

export const MUTANTS: Mutant[] = [
  {
    name: 'an activity removed: the checkpoint is no longer saved',
    find: /await this\.call\('saveCheckpoint'[\s\S]*?\]\)\);/,
    put: '',
    breaks: ['happy.train-relax', 'two-arms.train-vime'],
  },
  {
    name: 'an activity added: the server is looked at twice',
    find: /await board\.attributes\.inspect\(\);/,
    put: 'await board.attributes.inspect(); await board.attributes.inspect();',
    breaks: ['happy.pipeline', 'recipe-invalid.pipeline'],
  },
  {
    name: 'two activities in another order: rows are converted before they are generated',
    find: /const generated = await this\.call\('generateRollouts'[\s\S]*?const converted = await this\.call\('convertRollouts'[\s\S]*?\]\)\);/,
    put: `const converted = await this.call('convertRollouts', step, (summary) => this.proxies.data.convertRollouts.executeWithOptions({ summary }, [handle()]));
          const generated = await this.call('generateRollouts', step, (summary) => this.proxies.rollout.generateRollouts.executeWithOptions({ summary }, [handle()]));`,
    breaks: ['happy.train-relax', 'happy.smoke-relax'],
  },
  {
    name: 'an activity done twice: a step is converted again',
    find: CONVERT,
    put: "const converted = await this.call('convertRollouts', step, (summary) => this.proxies.data.convertRollouts.executeWithOptions({ summary }, [handle()])); await this.call('convertRollouts', step, (summary) => this.proxies.data.convertRollouts.executeWithOptions({ summary }, [handle()]));",
    breaks: ['happy.train-relax'],
  },
  {
    name: 'an activity renamed: closeArm became openArm',
    find: /this\.proxies\.data\.closeArm/,
    put: 'this.proxies.data.openArm',
    breaks: ['happy.train-relax'],
  },
  {
    name: 'a timer removed: a failed activity is repeated without a pause',
    find: /\(0,[\w.]+\.sleep\)\(delay, \{ summary \}\), this\.beforeRepeat/,
    put: 'Promise.resolve(), this.beforeRepeat',
    breaks: ['generation-retried.train-relax', 'stalled.train-relax'],
  },
  {
    name: 'a timer added: a pause between two steps',
    find: /this\.retry\.noteProgress\(\);\s*if \(this\.isCheckpointStep/,
    put: "this.retry.noteProgress(); await new Promise((resolve) => setTimeout(resolve, 10)); if (this.isCheckpointStep",
    breaks: ['happy.train-relax'],
  },
  {
    name: 'a retry budget changed: generation is tried twice as often',
    find: /GenerationFailed: \{\s*retried: true,\s*attempts: 5/,
    put: 'GenerationFailed: { retried: true, attempts: 10',
    breaks: ['generation-exhausted.train-relax'],
  },
  {
    name: 'a child workflow removed: no smoke gate before the full run',
    find: /await this\.training\(context, arm, 'smoke', recipe\.smoke\.steps\);/,
    put: '',
    breaks: ['happy.pipeline', 'two-arms.pipeline'],
  },
  {
    name: 'a child workflow under another id',
    find: /`\$\{this\.pipelineId\}\/evaluate`/,
    put: '`${this.pipelineId}/evaluation`',
    breaks: ['happy.pipeline'],
  },
  {
    name: 'continue-as-new one step later',
    find: /done < this\.args\.limits\.continueAsNewEvery/,
    put: 'done <= this.args.limits.continueAsNewEvery',
    breaks: ['continue-as-new.train-relax'],
  },
  {
    name: 'engines no longer stopped at the end of a run',
    find: /if \(!this\.handedOn\)\s*await this\.stopEngine\(\);/,
    put: '',
    breaks: ['happy.train-relax', 'cancelled-train.train-relax'],
  },
  {
    name: 'a decision that is not waited for',
    find: /await this\.pause\(name\);/,
    put: '',
    breaks: ['paused-continue.pipeline', 'paused-abort.pipeline'],
  },
  {
    name: 'a notice to the webhook left out',
    find: /board\.notify\('completed', \{ verdict: result\.verdict \}\);/,
    put: '',
    breaks: ['webhook-refused.pipeline'],
  },
];

/** The bundle's text with a mutant in it. @throws Error when the place is not there exactly once */
export function mutate(code: string, { name, find, put }: Pick<Mutant, 'name' | 'find' | 'put'>): string {
  const places = code.match(new RegExp(find.source, 'g'))?.length ?? 0;
  if (places !== 1) throw new Error(`mutant “${name}”: its place is in the bundle ${places} times`);
  return code.replace(find, () => put);
}
