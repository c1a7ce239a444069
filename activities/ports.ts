import type { ArtifactKind, ArtifactRef } from '../shared/contracts/artifact.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import type { RunHandle } from '../shared/contracts/activities.js';
import type { StageRecord } from '../shared/artifacts/stage-index.js';
import type { CodeStage } from './code-version.js';

/** Structured log, pino's order of arguments. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What activities need from the process they run in. */
export interface ActivityPorts {
  log: Logger;
  /** Folder that relative model and data paths of a recipe are resolved against (after the working directory). */
  projectRoot: string;
}

export type { StageRecord } from '../shared/artifacts/stage-index.js';

/** Who made an artifact and from what. */
export interface Origin {
  stage: CodeStage;
  activity: string;
  attempt: number;
  inputs: ArtifactRef[];
}

/** A run's files as activities use them: published whole, found by path, hashed. */
export interface RunFiles {
  readonly handle: RunHandle;
  readonly recipe: Recipe;
  /** Absolute path of a file of the run. */
  path(relative: string): string;
  /** The artifact at a path when it was published completely, else undefined. */
  find(relative: string): Promise<ArtifactRef | undefined>;
  /** Like `find`. @throws PipelineError StorageFailed when it is not there */
  expect(relative: string): Promise<ArtifactRef>;
  publish(relative: string, data: string | Uint8Array, kind: ArtifactKind, origin: Origin): Promise<ArtifactRef>;
  /** Registers a file or folder that was already written atomically at its place. */
  adopt(relative: string, kind: ArtifactKind, origin: Origin): Promise<ArtifactRef>;
  readJson<T>(relative: string): Promise<T>;
  /** Files of an equal stage of any run (or of one only), verified and linked into this run. */
  lookupStage(key: string, options?: { onlyOf?: string | undefined }): Promise<StageRecord | undefined>;
  recordStage(record: Omit<StageRecord, 'pipelineId'>): Promise<void>;
  /**
   * Says that this activity works on something that one attempt at a time may change, e.g. an engine. From then on nothing is
   * published once a newer attempt has begun.
   *
   * @param work name of the engine's folder
   * @throws PipelineError HostLost when a newer attempt has begun already
   */
  enter(work: string): Promise<void>;
  forgetStage(key: string): Promise<void>;
  /** What the artifact at a path was made from; undefined when it is not there or not whole. */
  inputsOf(relative: string): Promise<{ path: string; sha256: string }[] | undefined>;
  /** Moves files or folders, and what is known of them, to `.discarded/<name>-<n>/`. */
  setAside(paths: readonly string[], name: string): Promise<void>;
  /** Gives damaged artifacts their bytes back where the store has them. @returns paths of those that stay damaged */
  heal(): Promise<string[]>;
  /** Writes `manifest.json` over everything published so far. */
  writeManifest(): Promise<ArtifactRef>;
}
