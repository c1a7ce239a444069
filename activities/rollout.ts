import type { GenerateResult, RolloutActivities, StepHandle } from '../shared/contracts/activities.js';
import type { DatasetRow } from '../shared/contracts/dataset.js';
import type { Trajectory } from '../shared/contracts/trajectory.js';
import { trainingData } from '../shared/artifacts/training-data.js';
import { writeTrajectories } from '../shared/artifacts/trajectories-parquet.js';
import { promptRows } from '../shared/grpo/prompt-schedule.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { datasetIndex } from './dataset-index.js';
import { actorAt, engineName } from './embedded-actor.js';
import { armPaths } from './paths.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
import { resolveInput } from './resolve-input.js';
import { generateBatch, type RolloutOutcome } from './rollout-batch.js';
import { rolloutServer } from './rollout-server.js';
import { openRun } from './run-files.js';
import { activity, type ActivityScope } from './scope.js';

/** Facts of a step's rollouts, kept beside the trajectories so that a repeated activity answers from disk. */
interface RolloutFacts {
  step: number;
  generated_turns: number;
  mean_reward: number;
  sampled_tokens: number;
  prompt_tokens: number;
}

export function rolloutActivities(ports: ActivityPorts): RolloutActivities {
  return { generateRollouts: activity((args: StepHandle, scope) => generateRollouts(args, scope, ports)) };
}

async function generateRollouts(args: StepHandle, scope: ActivityScope, ports: ActivityPorts): Promise<GenerateResult> {
  const run = await openRun(args.run);
  const paths = armPaths(args.arm, args.phase);
  const trajectories = await run.find(paths.rollouts(args.step));
  if (trajectories !== undefined && (await run.find(paths.rolloutFacts(args.step))) !== undefined) {
    return { ...toResult(await run.readJson<RolloutFacts>(paths.rolloutFacts(args.step))), trajectories, seconds: 0 };
  }
  const startedAt = performance.now();
  const outcome = await rollOut(run, args, scope, ports);
  const origin: Origin = { stage: 'rollout', activity: 'generateRollouts', attempt: scope.attempt, inputs: [] };
  const data = await run.find(trainingData(run.recipe));
  if (data !== undefined) origin.inputs.push(data);
  await run.enter(engineName(args));
  await writeTrajectories(run.path(paths.rollouts(args.step)), outcome.trajectories);
  const ref = await run.adopt(paths.rollouts(args.step), 'trajectories', origin);
  const facts = factsOf(args.step, outcome);
  await run.publish(paths.rolloutFacts(args.step), `${JSON.stringify(facts)}\n`, 'trajectories', {
    ...origin,
    inputs: [ref],
  });
  return { ...toResult(facts), trajectories: ref, seconds: (performance.now() - startedAt) / 1000 };
}

async function rollOut(
  run: RunFiles,
  args: StepHandle,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<RolloutOutcome> {
  const { grpo, memory, arms, model, ablation } = run.recipe;
  const index = await datasetIndex(run.path(trainingData(run.recipe)));
  const rows = await index.readJson<DatasetRow>(
    promptRows(args.step, grpo.promptsPerStep, index.lines, grpo.rolloutSeed)
  );
  const actor = await actorAt(run, args, args.step, scope, ports);
  const modelDir = resolveInput(model.path ?? '', ports.projectRoot);
  const server =
    run.recipe.rolloutServing === undefined ? undefined : await rolloutServer(run, args, actor, modelDir, scope);
  scope.report({ phase: 'rollout', step: args.step, done: 0 });
  const outcome = await generateBatch(
    {
      step: args.step,
      rows,
      groupSize: grpo.groupSize,
      flavour: arms[args.arm]?.flavour ?? 'relax',
      limits: memory,
      enableThinking: memory.enableThinking,
      emptyMemory: ablation?.emptyMemory ?? false,
      temperature: grpo.temperature,
      topP: grpo.topP,
      seed: grpo.rolloutSeed,
      concurrency: grpo.rolloutConcurrency,
      weightsVersion: String(args.step),
    },
    {
      client: (server ?? actor).inference,
      tokenizer: await loadTokenizer(modelDir),
      signal: scope.signal,
      onProgress: (done, total) => scope.report({ phase: 'rollout', step: args.step, done, total }),
    }
  );
  await server?.check(outcome.trajectories);
  return outcome;
}

function factsOf(step: number, outcome: RolloutOutcome): RolloutFacts {
  const { trajectories } = outcome;
  return {
    step,
    generated_turns: trajectories.reduce((sum, trajectory) => sum + trajectory.turns.length, 0),
    mean_reward: meanReward(trajectories),
    sampled_tokens: outcome.sampledTokens,
    prompt_tokens: outcome.promptTokens,
  };
}

/** Trajectory-level mean of the raw rewards. */
export function meanReward(trajectories: readonly Trajectory[]): number {
  return trajectories.reduce((sum, trajectory) => sum + trajectory.reward, 0) / trajectories.length;
}

function toResult(facts: RolloutFacts): Omit<GenerateResult, 'trajectories' | 'seconds'> {
  return {
    generatedTurns: facts.generated_turns,
    meanReward: facts.mean_reward,
    sampledTokens: facts.sampled_tokens,
    promptTokens: facts.prompt_tokens,
  };
}
