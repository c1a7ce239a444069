import { basename } from 'node:path';
import type { BuiltLengths } from './build-lengths.js';
import type { SkipReport } from './skip-report.js';

/** How evaluation files of chosen lengths were made: enough to make the same bytes again. */
export interface LengthsManifest {
  format: 'memagent.lengths-manifest/1';
  source: { filename: string; size_bytes: number; sha256: string };
  seed: number;
  files: {
    path: string;
    /** Documents of each context. */
    documents: number;
    rows: number;
    size_bytes: number;
    sha256: string;
    /** Documents that stand in their context for another time. */
    repeated_documents: number;
  }[];
  skipped: SkipReport;
}

/** No time and no folder in it: the same data give the same bytes on every machine. */
export function lengthsManifest(
  source: { path: string; bytes: number; sha256: string },
  seed: number,
  built: BuiltLengths
): LengthsManifest {
  return {
    format: 'memagent.lengths-manifest/1',
    source: { filename: basename(source.path), size_bytes: source.bytes, sha256: source.sha256 },
    seed,
    files: built.files.map((file) => ({
      path: basename(file.path),
      documents: file.length,
      rows: file.rows,
      size_bytes: file.bytes,
      sha256: file.sha256,
      repeated_documents: file.repeatedDocuments,
    })),
    skipped: built.skipped,
  };
}
