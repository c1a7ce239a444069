import { dependsOn } from '../shared/contracts/stages.js';

/**
 * Results of the stages that are done, so that the chain can be gone through again after a decision and only repeats what it
 * must.
 */
export class StageResults {
  private readonly done = new Map<string, unknown>();
  private readonly remade = new Set<string>();

  keep(stage: string, result: unknown): void {
    this.done.set(stage, result);
    this.remade.delete(stage);
  }

  has(stage: string): boolean {
    return this.done.has(stage);
  }

  get<T>(stage: string): T {
    return this.done.get(stage) as T;
  }

  /** Forgets a stage and all that depend on it; the stage itself is to be made anew rather than found on disk. */
  forgetFrom(stage: string): void {
    for (const name of [...this.done.keys()]) if (dependsOn(name, stage)) this.done.delete(name);
    this.remade.add(stage);
  }

  mustRemake(stage: string): boolean {
    return this.remade.has(stage);
  }
}
