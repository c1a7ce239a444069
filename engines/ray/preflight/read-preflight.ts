import type { Recipe } from '../../../shared/contracts/recipe.js';
import type { Cluster } from '../launch/common-flags.js';
import { clusterFactsIn, type ClusterFacts, type FileFacts, type NodeFacts } from './cluster-facts.js';
import type { ExpectedFile, PreflightFacts } from './preflight-job.js';

const GIB = 1024 ** 3;
const MIB_PER_GIB = 1024;
/** A device of which more than this part is used is somebody's. No unit. */
const USED_SHARE = 0.1;

/** What is not as the recipe says. */
export interface PreflightFindings {
  /** What somebody must correct. */
  problems: string[];
  /** What is taken now, and free again when another job is over. */
  busy: string[];
}

/**
 * Judges what the preflight job found: one sentence a finding, all of them.
 *
 * @param output the job's log
 * @returns undefined when the output has no result: the job failed before it could look
 */
export function readPreflight(
  output: string,
  recipe: Recipe,
  arm: string,
  facts: PreflightFacts
): PreflightFindings | undefined {
  const found = clusterFactsIn(output);
  const { cluster } = recipe;
  if (found === undefined || cluster === undefined) return undefined;
  const { path = '', commit } = recipe.arms[arm] ?? {};
  const answered = found.nodes.filter((node) => node.error === undefined);
  const [first, ...others] = answered;
  const problems = [
    ...found.nodes.flatMap((node) => (node.error === undefined ? [] : [`${at(node)}: no answer: ${node.error}`])),
    ...answered.flatMap((node) => checkoutProblems(node, path, commit)),
    ...(first === undefined ? [] : fileProblems(first, facts)),
    ...answered.flatMap((node) => markerProblems(node, facts)),
    ...others.flatMap((node) => modelProblems(node, facts)),
    ...gpuProblems(found, cluster),
    ...answered.flatMap((node) => sizeProblems(node, cluster)),
  ];
  return { problems: unique(problems), busy: unique([...takenGpus(found, cluster), ...answered.flatMap(takenParts)]) };
}

function checkoutProblems(node: NodeFacts, path: string, pin: string | undefined): string[] {
  const { checkout } = node;
  if (checkout === undefined) return [];
  const where = `${at(node)}: ${path}`;
  if (checkout.commit === undefined)
    return [`${where}: the framework’s commit cannot be told: ${checkout.error ?? '?'}`];
  return [
    ...(pin === undefined || checkout.commit === pin
      ? []
      : [`${where}: commit ${checkout.commit.slice(0, 12)}, the recipe names ${pin.slice(0, 12)}`]),
    ...(checkout.changed.length === 0 ? [] : [`${where}: changed beside the commit: ${checkout.changed.join(', ')}`]),
    ...(checkout.missing.length === 0
      ? []
      : [`${where}: this commit lacks what the launch recipe names: ${checkout.missing.join(', ')}`]),
  ];
}

/** Contents, from the one node that hashed them. */
function fileProblems(node: NodeFacts, { modelDir, modelFiles, trainData }: PreflightFacts): string[] {
  const model = modelFiles.flatMap((expected) => {
    const found = node.model[expected.name];
    return contentProblem(`${at(node)}: model file ${modelDir}/${expected.name}`, found, expected);
  });
  return [...model, ...contentProblem(`${at(node)}: training data ${trainData.name}`, node.data, trainData)];
}

function contentProblem(what: string, found: FileFacts | undefined, expected: ExpectedFile): string[] {
  if (found === undefined || found.error !== undefined) return [`${what}: ${found?.error ?? 'not looked at'}`];
  if (found.bytes !== expected.bytes) return [`${what}: ${found.bytes} bytes, expected ${expected.bytes}`];
  if (found.sha256 !== undefined && found.sha256 !== expected.sha256)
    return [`${what}: SHA-256 ${found.sha256.slice(0, 12)}…, expected ${expected.sha256.slice(0, 12)}…`];
  return [];
}

/** Every node must see the same storage. */
function markerProblems({ marker: seen, ...node }: NodeFacts, { marker }: PreflightFacts): string[] {
  if (seen?.text === undefined)
    return [`${at(node)}: shared storage is not seen: ${marker.path}: ${seen?.error ?? 'not looked at'}`];
  return seen.text === marker.text
    ? []
    : [`${at(node)}: ${marker.path} is another file there: the storage is not shared`];
}

/** The model as nodes see it that did not hash it. */
function modelProblems(node: NodeFacts, { modelFiles, modelDir }: PreflightFacts): string[] {
  return modelFiles.flatMap(({ name, bytes }) => {
    const found = node.model[name];
    return found?.bytes === bytes
      ? []
      : [`${at(node)}: ${modelDir}/${name}: ${found?.error ?? `${found?.bytes} bytes`}`];
  });
}

function gpuProblems({ gpus, nodes }: ClusterFacts, cluster: Cluster): string[] {
  if (gpus.total < cluster.gpus) return [`GPUs: the cluster has ${gpus.total}, the recipe’s job needs ${cluster.gpus}`];
  if (cluster.gpuMemoryGiB === 0 || nodes.some(({ nvidia }) => (nvidia?.gpus ?? []).length > 0)) return [];
  return [
    `the memory of the GPUs could not be looked at: ${nodes.map((node) => node.nvidia?.error ?? '?').join('; ')}`,
  ];
}

function sizeProblems(node: NodeFacts, cluster: Cluster): string[] {
  const { disk, nvidia } = node;
  const free = (disk?.bytes ?? 0) / GIB;
  const disks =
    disk !== undefined && free < cluster.freeDiskGiB
      ? [`${at(node)}: ${free.toFixed(1)} GiB free at ${disk.path}, the recipe asks for ${cluster.freeDiskGiB}`]
      : [];
  // A head without devices is usual; what is missing in all shows in the count.
  const devices = (nvidia?.gpus ?? []).flatMap(({ name, totalMiB }, index) => {
    const total = totalMiB / MIB_PER_GIB;
    if (total >= cluster.gpuMemoryGiB) return [];
    return [
      `${at(node)}: GPU ${index} (${name}) has ${total.toFixed(1)} GiB, the recipe asks for ${cluster.gpuMemoryGiB}`,
    ];
  });
  return [...disks, ...devices];
}

function takenGpus({ gpus }: ClusterFacts, cluster: Cluster): string[] {
  if (gpus.total < cluster.gpus || gpus.free >= cluster.gpus) return [];
  return [
    `GPUs: ${gpus.total - gpus.free} of the cluster’s ${gpus.total} are taken, the recipe’s job needs ${cluster.gpus}`,
  ];
}

function takenParts(node: NodeFacts): string[] {
  const ports = node.takenPorts.map(
    (port) => `${at(node)}: port ${port} is taken; \`ray serve shutdown -y\` there ends what an earlier Relax job left`
  );
  const devices = (node.nvidia?.gpus ?? []).flatMap(({ name, totalMiB, usedMiB }, index) => {
    if (usedMiB <= totalMiB * USED_SHARE) return [];
    return [
      `${at(node)}: GPU ${index} (${name}): ${(usedMiB / MIB_PER_GIB).toFixed(1)} GiB are used by another program`,
    ];
  });
  return [...ports, ...devices];
}

function at({ address, host }: Pick<NodeFacts, 'address' | 'host'>): string {
  return host === '?' ? address : `${address} (${host})`;
}

function unique(problems: string[]): string[] {
  return [...new Set(problems)];
}
