import type {
  ArmHandle,
  CloseArmResult,
  EvaluateArgs,
  OpenArmArgs,
  OpenArmResult,
} from '../shared/contracts/activities.js';
import { isForced, writeStageKey } from '../shared/artifacts/stage-keys.js';
import { SCREENING, trainingData } from '../shared/artifacts/training-data.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import { hashJson } from '../shared/contracts/canonical-json.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { hashLocalSources } from '../shared/data/local-source.js';
import { CODE_VERSIONS, codeVersion } from './code-version.js';
import { armPaths, dueCheckpoints } from './paths.js';
import type { RunFiles, StageRecord } from './ports.js';

/** Everything a stage's result depends on, by name, so that a person can see which part differs. */
export type KeyParts = Record<string, unknown>;

/** With what tells the model's weights from others. */
export type ModelKeyParts = KeyParts & { model: string };

async function shaOf(run: RunFiles, relative: string): Promise<string> {
  return (await run.expect(relative)).sha256;
}

/** Data: the recipe's data section, what is cut from it, and the chunk size (generated contexts are made of whole chunks). */
export async function dataKeyParts(run: RunFiles, projectRoot: string): Promise<KeyParts> {
  const { data, evaluation } = run.recipe;
  return {
    stage: 'data',
    code: codeVersion('data'),
    // Which of the rows are trained on is the screening's own key.
    data: { ...data, screening: undefined },
    // The name of a local file says nothing about what is in it.
    localSources: await hashLocalSources(run.recipe, projectRoot),
    lengths: evaluation.lengths,
    items: evaluation.items,
    devItems: evaluation.devItems ?? null,
  };
}

/** A screening: the base model, the rows that are tried, the limits of the loop, and how prompts are chosen. */
export async function screeningKeyParts(run: RunFiles): Promise<ModelKeyParts> {
  const { data, memory, evaluation, ablation } = run.recipe;
  return {
    stage: 'screen',
    code: `${codeVersion('screen')}.${CODE_VERSIONS.evaluate}`,
    tokenizer: tokenizerName(run.recipe),
    model: await shaOf(run, 'model.json'),
    data: await shaOf(run, SCREENING.source),
    memory,
    emptyMemory: ablation?.emptyMemory === true ? true : undefined,
    screening: data.screening,
    serverContext: evaluation.serverContext,
  };
}

/** A training run: model, data, limits, everything of `grpo`, the arm's rules, and the code of all its activities. */
export async function armKeyParts(
  run: RunFiles,
  args: OpenArmArgs | (ArmHandle & { totalSteps: number })
): Promise<KeyParts> {
  return {
    stage: args.phase,
    code: [CODE_VERSIONS.rollout, CODE_VERSIONS.convert, CODE_VERSIONS.train, CODE_VERSIONS.checkpoint].join('.'),
    engine: run.recipe.engine,
    model: await shaOf(run, 'model.json'),
    data: await shaOf(run, trainingData(run.recipe)),
    memory: run.recipe.memory,
    grpo: { ...run.recipe.grpo, steps: args.totalSteps },
    arm: run.recipe.arms[args.arm],
    ablation: run.recipe.ablation,
    rolloutServing: servingParts(run.recipe.rolloutServing),
  };
}

/** What of a server's settings decides results: not where it runs, nor how long its start may take. */
function servingParts(settings: Recipe['serving']): unknown {
  if (settings === undefined || settings.engine === 'embedded') return undefined;
  const { engine, args, env } = settings;
  return { engine, args, env };
}

/** What evaluations call their tokenizer: the model it belongs to, as the recipe names it. */
export function tokenizerName({ model }: Recipe): string {
  return model.id ?? model.path ?? 'model';
}

export async function evaluationKeyParts(run: RunFiles, args: EvaluateArgs): Promise<ModelKeyParts> {
  return {
    stage: 'evaluate',
    code: codeVersion('evaluate'),
    // Both names are written into the summary, and the judge compares them.
    name: args.model,
    tokenizer: tokenizerName(run.recipe),
    model: args.weights?.sha256 ?? (await shaOf(run, 'model.json')),
    data: await shaOf(run, `data/${args.dataset}.jsonl`),
    memory: run.recipe.memory,
    emptyMemory: run.recipe.ablation?.emptyMemory === true ? true : undefined,
    serving: servingParts(run.recipe.serving),
    evaluation: { ...run.recipe.evaluation, lengths: undefined, items: undefined, devItems: undefined },
  };
}

/**
 * The equal stage of any run, its files verified by hash and linked into this run. The key and where the result comes from are
 * written down for `memagent explain`. A stage that this run was started to make anew is taken over from no other run.
 */
async function takeOver(
  run: RunFiles,
  stage: string,
  parts: KeyParts,
  options: { onlyOwn?: boolean } = {}
): Promise<StageRecord | undefined> {
  const key = hashJson(parts);
  const directory = run.path('.');
  const own = run.handle.pipelineId;
  const forced = await isForced(directory, stage);
  const onlyOwn = forced || options.onlyOwn === true;
  const found = await run.lookupStage(key, { onlyOf: onlyOwn ? own : undefined });
  const from = found === undefined || found.pipelineId === own ? {} : { reusedFrom: found.pipelineId };
  await writeStageKey(directory, { stage, key, parts, ...from });
  return found;
}

/**
 * Brings an equal stage's files into this run, each one verified by its hash first.
 *
 * @param stage name of the stage for people, e.g. `evaluate:base/dev`
 * @returns false when there is no equal stage, or `needed` is not complete
 */
export async function lookupFiles(
  run: RunFiles,
  stage: string,
  parts: KeyParts,
  needed: readonly string[]
): Promise<boolean> {
  const found = await takeOver(run, stage, parts);
  if (found === undefined) return false;
  const paths = new Set(found.outputs.map((ref) => ref.path));
  return needed.every((path) => paths.has(path));
}

export async function recordFiles(
  run: RunFiles,
  stage: string,
  parts: KeyParts,
  paths: readonly string[],
  facts?: unknown
): Promise<void> {
  const outputs: ArtifactRef[] = [];
  for (const path of [...new Set(paths)]) outputs.push(await run.expect(path));
  await run.recordStage({ key: hashJson(parts), stage, parts, outputs, facts });
}

/**
 * Facts of a complete equal training run; its files are in this run afterwards.
 *
 * @param options.onlyOwn of this run alone: another one's files would not be all that is needed, and would hide this run's own
 */
export async function lookupArm(
  run: RunFiles,
  args: ArmHandle,
  parts: KeyParts,
  options: { onlyOwn?: boolean } = {}
): Promise<Pick<OpenArmResult, 'finished' | 'reusedFrom'> | undefined> {
  const place = armPaths(args.arm, args.phase).folder;
  const found = await takeOver(run, `${args.phase}:${args.arm}`, { ...parts, place }, options);
  if (found?.facts === undefined) return undefined;
  return { finished: found.facts as CloseArmResult, reusedFrom: found.pipelineId };
}

/** The same for an arm that jobs trained: of its checkpoint only the list of files is in the store. */
export async function recordJobArm(
  run: RunFiles,
  args: ArmHandle,
  parts: KeyParts,
  result: CloseArmResult,
  records: readonly ArtifactRef[]
): Promise<void> {
  const files = [...records, ...result.artifacts, result.checkpoint].map(({ path }) => path);
  const place = armPaths(args.arm, args.phase).folder;
  await recordFiles(run, `${args.phase}:${args.arm}`, { ...parts, place }, files, result);
}

/** Files lie under the arm's folder, so the key has the folder in it: another arm's name is another place. */
export async function recordArm(
  run: RunFiles,
  args: ArmHandle & { totalSteps: number },
  parts: KeyParts,
  result: CloseArmResult
): Promise<void> {
  const paths = armPaths(args.arm, args.phase);
  const files = [paths.rewardCsv, paths.metricsCsv, result.checkpoint.path, ...result.artifacts.map((ref) => ref.path)];
  for (let step = 0; step < args.totalSteps; step += 1) {
    files.push(
      paths.rollouts(step),
      paths.rolloutFacts(step),
      paths.rows(step),
      paths.rowFacts(step),
      paths.train(step)
    );
  }
  files.push(...dueCheckpoints(run.recipe.grpo.checkpointEvery, args.totalSteps).map(paths.checkpoint));
  await recordFiles(run, `${args.phase}:${args.arm}`, { ...parts, place: paths.folder }, files, result);
}
