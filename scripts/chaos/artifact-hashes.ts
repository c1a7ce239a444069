import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Records of the run itself: times, cost, attempts, folders, tags. Everything else must have the same bytes in every run. */
const RUN_RECORDS = new Set(['timeline.json', 'cost.json', 'report.html', 'manifest.json', 'recipe.json']);

/** What was seen of a stall. */
const EVIDENCE = 'evidence';

/** SHA-256 of every artifact of a run that must not depend on when, where and how often it was tried, by path. */
export function artifactHashes(runDirectory: string): Record<string, string> {
  const hashes: Record<string, string> = {};
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      const name = relative(runDirectory, path);
      if (entry.name.startsWith('.') || name === EVIDENCE || RUN_RECORDS.has(name)) continue;
      if (entry.isDirectory()) visit(path);
      else hashes[name] = createHash('sha256').update(readFileSync(path)).digest('hex');
    }
  };
  visit(runDirectory);
  return hashes;
}
