import type { Flavour } from '../contracts/trajectory.js';
import type { ConvertedFile } from './convert-file.js';
import type { SkipReport } from './skip-report.js';

/** A converted data set and the file it was made from. Field names are those of the reference's own manifest. */
export interface DataArtifact {
  /** `train`, `dev` or `eval_<length>`. */
  name: string;
  /** Hugging Face data set, or null for a local or generated file. */
  repo_id: string | null;
  /** Commit of the data set, or null. */
  resolved_revision: string | null;
  /** Name in the data set, path in the recipe, or path of the generated file within the run. */
  filename: string;
  /** Of the source. */
  size_bytes: number;
  sha256: string;
  converted: {
    /** Path within the run. */
    path: string;
    size_bytes: number;
    sha256: string;
    written_rows: number;
    skipped_rows: number;
    /** Rows looked at: written and skipped. */
    read_rows: number;
    /** Rows wanted at most, or null for all. */
    limit: number | null;
    /** Whose converter's rules, where they are not relax's. */
    flavour?: 'vime';
    skipped: SkipReport;
  };
}

export interface DataManifest {
  format: 'memagent.data-manifest/1';
  /** Options of the generator when the sources were generated. */
  generated: Record<string, unknown> | null;
  artifacts: DataArtifact[];
}

/** A source file that is there and hashed. */
export interface HashedSource {
  name: string;
  repoId: string | null;
  revision: string | null;
  filename: string;
  /** Absolute path. */
  path: string;
  bytes: number;
  sha256: string;
}

export function dataArtifact(
  source: HashedSource,
  path: string,
  converted: ConvertedFile,
  limit?: number,
  flavour?: Flavour
): DataArtifact {
  return {
    name: source.name,
    repo_id: source.repoId,
    resolved_revision: source.revision,
    filename: source.filename,
    size_bytes: source.bytes,
    sha256: source.sha256,
    converted: {
      path,
      size_bytes: converted.bytes,
      sha256: converted.sha256,
      written_rows: converted.written,
      skipped_rows: converted.skipped.total,
      read_rows: converted.rowsRead,
      limit: limit ?? null,
      ...(flavour === 'vime' ? { flavour } : {}),
      skipped: converted.skipped,
    },
  };
}

/** The manifest's text: no time and no absolute path, so that the same data give the same bytes on every machine. */
export function manifestText(artifacts: readonly DataArtifact[], generated: Record<string, unknown> | null): string {
  const manifest: DataManifest = { format: 'memagent.data-manifest/1', generated, artifacts: [...artifacts] };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
