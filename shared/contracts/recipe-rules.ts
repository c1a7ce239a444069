import { nearestName } from './nearest-name.js';
import { found } from './recipe-problems.js';
import { stageNames } from './stages.js';

/**
 * Rules over several fields. They look at the recipe as it was written and at nothing that has the wrong type, so that they can
 * all be reported together with the schema's own problems.
 */

type Members = Record<string, unknown>;

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function has(value: Members, key: string): boolean {
  return Object.hasOwn(value, key) && value[key] !== undefined;
}

function modelRules(recipe: Members): string[] {
  if (typeof recipe['model'] !== 'object') return [];
  const model = members(recipe['model']);
  const problems: string[] = [];
  if (!has(model, 'path') && !has(model, 'id'))
    problems.push('model: give either “path” (a local folder) or “id” with “revision”, found neither');
  if (has(model, 'path') && has(model, 'id') && recipe['engine'] !== 'ray')
    problems.push('model: give either “path” (a local folder) or “id” with “revision”, not both');
  if (has(model, 'id') && !has(model, 'revision'))
    problems.push('model.revision: missing: a model “id” needs the full commit it is pinned to');
  if (!has(model, 'id') && has(model, 'revision'))
    problems.push('model.revision: only with “id”; a “path” is hashed instead');
  return problems;
}

function dataRules(recipe: Members): string[] {
  if (typeof recipe['data'] !== 'object') return [];
  const data = members(recipe['data']);
  const problems: string[] = [];
  if (has(data, 'generate') === has(data, 'files'))
    problems.push(`data: give either “generate” or “files”, ${has(data, 'files') ? 'not both' : 'found neither'}`);
  if (has(data, 'repo') && !has(data, 'revision'))
    problems.push('data.revision: missing: a data “repo” needs the full commit it is pinned to');
  if (has(data, 'repo') && !has(data, 'files')) problems.push('data.files: missing: name the files of the “repo”');
  if (!has(data, 'repo') && has(data, 'revision')) problems.push('data.revision: only with “repo”');
  return [...problems, ...fileRules(recipe, data)];
}

function fileRules(recipe: Members, data: Members): string[] {
  if (!has(data, 'files')) return [];
  const files = members(data['files']);
  const byLength = members(files['eval']);
  const names = new Set([files['train'], files['dev'], ...Object.values(byLength)]);
  const lengths = members(recipe['evaluation'])['lengths'] ?? [50, 200, 800];
  const missing = Array.isArray(lengths) ? lengths.filter((length) => !has(byLength, String(length))) : [];
  const unknown = Object.keys(members(data['sha256'])).filter((name) => !names.has(name));
  return [
    ...missing.map((length) => `data.files.eval.${String(length)}: missing: evaluation.lengths asks for it`),
    ...unknown.map((name) => `data.sha256: ${JSON.stringify(name)} is none of the files in data.files`),
  ];
}

/** What cannot be fulfilled whatever the base model does. */
function screeningRules(recipe: Members): string[] {
  const data = members(recipe['data']);
  if (!has(data, 'screening')) return [];
  const screening = members(data['screening']);
  const { tries = 8, minPasses = 1, train, heldOut = 0, candidates } = screening;
  const { maxPasses = typeof tries === 'number' ? tries - 1 : undefined } = screening;
  const problems: string[] = [];
  if (typeof tries === 'number' && typeof maxPasses === 'number' && maxPasses >= tries)
    problems.push(
      `data.screening.maxPasses: expected less than tries (${tries}): a prompt that is always solved teaches nothing, found ${maxPasses}`
    );
  if (typeof minPasses === 'number' && typeof maxPasses === 'number' && minPasses > maxPasses)
    problems.push(`data.screening.minPasses: expected at most maxPasses (${maxPasses}), found ${minPasses}`);
  const wanted = (typeof train === 'number' ? train : 0) + (typeof heldOut === 'number' ? heldOut : 0);
  if (typeof candidates === 'number' && candidates < wanted)
    problems.push(`data.screening.candidates: expected at least train + heldOut (${wanted}), found ${candidates}`);
  return problems;
}

function armRules(recipe: Members): string[] {
  if (typeof recipe['arms'] !== 'object') return [];
  const arms = members(recipe['arms']);
  const problems = Object.keys(arms).length === 0 ? ['arms: expected at least one arm, found none'] : [];
  if (has(arms, 'base')) problems.push('arms.base: “base” is the name of the untrained model; choose another name');
  if (recipe['engine'] !== 'ray') return problems;
  for (const [name, arm] of Object.entries(arms)) {
    if (!has(members(arm), 'commit'))
      problems.push(`arms.${name}.commit: missing: engine “ray” runs a pinned framework commit`);
    if (!has(members(arm), 'repo'))
      problems.push(`arms.${name}.repo: missing: engine “ray” needs the framework’s repository`);
    if (!has(members(arm), 'path'))
      problems.push(`arms.${name}.path: missing: engine “ray” needs the folder of the framework’s checkout`);
  }
  return problems;
}

function engineRules(recipe: Members): string[] {
  const model = members(recipe['model']);
  if (recipe['engine'] === 'embedded' && has(model, 'id'))
    return ['model.id: engine “embedded” takes a local folder: give model.path'];
  if (recipe['engine'] === 'ray' && !has(model, 'id'))
    return ['model.id: engine “ray” takes a pinned hub model: give model.id and model.revision'];
  return [];
}

/** Which server may do what: rollouts of the embedded actor need one that loads weights from disk. */
function servingRules(recipe: Members): string[] {
  const serving = members(recipe['serving']);
  const rollouts = members(recipe['rolloutServing']);
  const problems: string[] = [];
  if (recipe['engine'] === 'ray' && !has(recipe, 'serving'))
    problems.push('serving: missing: engine “ray” needs to know which server evaluates: “sglang” or “vllm”');
  if (recipe['engine'] === 'ray' && has(recipe, 'rolloutServing'))
    problems.push('rolloutServing: only with engine “embedded”; a job’s framework serves its own rollouts');
  if (has(recipe, 'rolloutServing') && typeof rollouts['engine'] === 'string' && rollouts['engine'] !== 'sglang')
    problems.push(`rolloutServing.engine: expected “sglang”, found ${found(rollouts['engine'])}`);
  const arms = Object.keys(members(recipe['arms'])).length;
  if (has(rollouts, 'endpoint') && arms > 1 && members(recipe['limits'])['parallelArms'] !== false)
    problems.push('rolloutServing.endpoint: one server holds the weights of one arm: set limits.parallelArms to false');
  for (const [name, value] of [
    ['serving', serving],
    ['rolloutServing', rollouts],
  ] as const) {
    if (value['engine'] === 'embedded' && ['endpoint', 'command', 'args', 'env'].some((key) => has(value, key)))
      problems.push(`${name}: engine “embedded” takes no endpoint, command, args or env`);
    if (has(value, 'endpoint') && ['command', 'args', 'env'].some((key) => has(value, key)))
      problems.push(`${name}: an endpoint is used as it is: leave command, args and env out`);
    if (has(value, 'tokenEnv') && !has(value, 'endpoint')) problems.push(`${name}.tokenEnv: only with “endpoint”`);
  }
  return problems;
}

/**
 * What is certain without a tokenizer: one request holds a chunk, the memory and the response. The prompt's own text comes on
 * top and is checked where the tokenizer is loaded.
 */
function budgetRules(recipe: Members): string[] {
  const memory = members(recipe['memory']);
  const [chunk, cap, final] = [
    memory['chunkTokens'] ?? 2048,
    memory['memoryTokens'] ?? 1024,
    memory['finalTokens'] ?? 256,
  ];
  if (typeof chunk !== 'number' || typeof cap !== 'number' || typeof final !== 'number') return [];
  const needed = Math.max(chunk + cap + cap, cap + final);
  const contexts: [string, unknown][] = [
    ['evaluation.serverContext', members(recipe['evaluation'])['serverContext'] ?? 8192],
    ...(has(recipe, 'cluster')
      ? [['cluster.engineContext', members(recipe['cluster'])['engineContext'] ?? 8192] as [string, unknown]]
      : []),
  ];
  return contexts
    .filter(([, limit]) => typeof limit === 'number' && limit <= needed)
    .map(
      ([where, limit]) =>
        `${where}: expected more than ${needed} tokens (chunk ${chunk} + memory ${cap} + response ${cap}, ` +
        `and the prompt’s own text), found ${String(limit)}`
    );
}

function clusterRules(recipe: Members): string[] {
  if (recipe['engine'] === 'embedded' && has(recipe, 'cluster')) return ['cluster: only with engine “ray”'];
  if (recipe['engine'] !== 'ray') return [];
  if (!has(recipe, 'cluster')) return ['cluster: missing: engine “ray” needs the shape of the training job'];
  const cluster = members(recipe['cluster']);
  const gpus = cluster['gpus'] ?? 8;
  const tensorParallel = cluster['tensorParallel'] ?? 2;
  const multiple = members(recipe['grpo'])['rowsMultiple'] ?? 1;
  if (typeof gpus !== 'number' || typeof tensorParallel !== 'number' || tensorParallel < 1) return [];
  if (gpus % tensorParallel !== 0)
    return [`cluster.tensorParallel: expected a divisor of cluster.gpus (${gpus}), found ${tensorParallel}`];
  if (typeof multiple !== 'number' || multiple % (gpus / tensorParallel) === 0) return [];
  return [
    `grpo.rowsMultiple: expected a multiple of the data-parallel size ${gpus / tensorParallel} ` +
      `(cluster.gpus / cluster.tensorParallel), found ${multiple}`,
  ];
}

function listRules(recipe: Members): string[] {
  const lengths = members(recipe['evaluation'])['lengths'];
  if (!Array.isArray(lengths) || new Set(lengths).size === lengths.length) return [];
  return [`evaluation.lengths: every length once, found ${found(lengths)}`];
}

function clipRules(recipe: Members): string[] {
  const clip = members(recipe['grpo'])['clip'];
  if (!Array.isArray(clip) || typeof clip[0] !== 'number' || clip[0] < 1) return [];
  return [`grpo.clip[0]: expected less than 1 (the ratio’s lower bound is 1 − clip), found ${clip[0]}`];
}

/** Stages the run can pause after: any but the first and the last, an arm's also for all arms at once. */
function pauseRules(recipe: Members): string[] {
  const given = recipe['pauseAfter'];
  const wanted = typeof given === 'string' ? [given] : Array.isArray(given) ? given : [];
  const stages = stageNames(
    Object.keys(members(recipe['arms'])).sort(),
    has(members(recipe['data']), 'screening')
  ).slice(1, -1);
  const known = [...new Set([...stages, ...stages.map((stage) => stage.split(':')[0] as string)])];
  return wanted
    .filter((stage): stage is string => typeof stage === 'string' && stage !== '' && !known.includes(stage))
    .map((stage) => {
      const near = nearestName(stage, known);
      const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean “${near}”?`;
      return `pauseAfter: no stage to pause after is named ${found(stage)}; ${hint}`;
    });
}

/** A fallback that needs as much memory as what it replaces would only fail again. */
function fallbackRules(recipe: Members): string[] {
  if (typeof recipe['oomFallback'] !== 'object') return [];
  const fallback = members(recipe['oomFallback']);
  if (Object.keys(fallback).length === 0) return ['oomFallback: names no smaller setting; leave it out or give one'];
  if (has(fallback, 'tokensPerGpu') && !has(recipe, 'cluster'))
    return ['oomFallback.tokensPerGpu: only with engine “ray” and its cluster'];
  const replaced: [string, string, unknown][] = [
    ['rolloutConcurrency', 'grpo.rolloutConcurrency', members(recipe['grpo'])['rolloutConcurrency'] ?? 64],
    ['evaluationConcurrency', 'evaluation.concurrency', members(recipe['evaluation'])['concurrency'] ?? 16],
    ['tokensPerGpu', 'cluster.tokensPerGpu', members(recipe['cluster'])['tokensPerGpu'] ?? 9216],
  ];
  return replaced
    .filter(
      ([key, , usual]) => typeof fallback[key] === 'number' && typeof usual === 'number' && fallback[key] >= usual
    )
    .map(
      ([key, place, usual]) =>
        `oomFallback.${key}: expected less than ${place} (${String(usual)}), found ${String(fallback[key])}`
    );
}

/** What is taken away is taken away by our own rollout and conversion, which only the embedded engine uses. */
function ablationRules(recipe: Members): string[] {
  if (typeof recipe['ablation'] !== 'object') return [];
  if (recipe['engine'] === 'ray') return ['ablation: only with engine “embedded”'];
  const taken = Object.values(members(recipe['ablation']));
  return taken.some((value) => value !== false)
    ? []
    : ['ablation: takes nothing away; leave it out or set one to true'];
}

/** @returns one sentence for each broken rule; empty when the recipe is consistent as far as it can be told */
export function ruleProblems(value: unknown): string[] {
  const recipe = members(value);
  const rules = [modelRules, engineRules, dataRules, armRules, clusterRules, budgetRules, listRules, clipRules];
  return [...rules, screeningRules, servingRules, pauseRules, fallbackRules, ablationRules].flatMap((rule) =>
    rule(recipe)
  );
}
