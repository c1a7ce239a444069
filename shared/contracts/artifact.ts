/** A reference to a file of a run: what activities pass to each other instead of data. */
export interface ArtifactRef {
  /** Path relative to the run's directory, with `/` separators, e.g. `arms/relax/rows/step-000007.parquet`. */
  path: string;
  /** SHA-256 of the file's bytes, lower-case hexadecimal. */
  sha256: string;
  /** Size in bytes. */
  bytes: number;
  kind: ArtifactKind;
}

export const ARTIFACT_KINDS = [
  'recipe',
  'source',
  'dataset',
  'data-manifest',
  'trajectories',
  'rows',
  'train-result',
  'checkpoint',
  'hf-model',
  'reward-series',
  'smoke-gate',
  'evaluation-samples',
  'evaluation-summary',
  'verdict',
  'report',
  'manifest',
  'log',
  'timeline',
] as const;

export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];
