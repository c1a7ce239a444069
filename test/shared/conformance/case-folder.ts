import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

/** Folder with the reference cases: beside the checkout, or where MEMAGENT_SHARED says. */
export const CASE_FOLDER = join(
  process.env['MEMAGENT_SHARED'] ?? fileURLToPath(new URL('../../../../shared', import.meta.url)),
  'cases'
);

export const HAS_CASES = existsSync(CASE_FOLDER);
