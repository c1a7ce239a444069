import { prepareChecker } from './files/prepare.js';
import type { Checker } from './types.js';

/** Every checker, one a case file: add a file to `files/` and its line here. */
export const CHECKERS: readonly Checker[] = [prepareChecker];
