import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/runtime/entry.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';

const root = packageRoot();
const CONFIGS = ['.dependency-cruiser.cjs', '.dependency-cruiser.runtime.cjs'];
const FOLDERS = ['activities', 'cli', 'engines', 'shared', 'test', 'workers', 'workflows'];

/** Targets of the planted imports, and for each rule a file that breaks it. All are planted at once: each run takes seconds. */
const TARGETS: Record<string, string> = {
  'activities/x.ts': 'export {};',
  'cli/x.ts': 'export {};',
  'workers/x.ts': 'export {};',
  'workflows/x.ts': 'export type X = 1;',
  'test/x.ts': 'export {};',
  'shared/memory/x.ts': 'export {};',
  'shared/contracts/schema.ts': "import { z } from 'zod';\nexport const s = z.string();",
  'shared/contracts/hash.ts': "import 'node:crypto';",
  'shared/other-end.ts': "import { a } from './cycle.js';\nexport const b = () => a;",
};

const PLANTED: Record<string, [file: string, text: string]> = {
  'shared-stands-alone': ['shared/upwards.ts', "import '../activities/x.js';"],
  'engines-on-shared': ['engines/upwards.ts', "import '../workers/x.js';"],
  'activities-on-engines-and-shared': ['activities/upwards.ts', "import '../cli/x.js';"],
  'workers-not-on-workflows': [
    'workers/types-too.ts',
    "import type { X } from '../workflows/x.js';\nexport type Y = X;",
  ],
  'workflows-on-contracts': ['workflows/too-far.ts', "import '../shared/memory/x.js';"],
  'workflow-packages': ['workflows/package.ts', "import 'undici';"],
  'no-node-in-workflows': ['workflows/node.ts', "import 'node:timers/promises';"],
  'temporal-stays-outside-shared': ['shared/temporal.ts', "import '@temporalio/client';"],
  'contracts-are-leaves': ['shared/contracts/sideways.ts', "import '../memory/x.js';"],
  'tests-are-not-imported': ['cli/test.ts', "import '../test/x.js';"],
  'declared-packages-only': ['cli/development.ts', "import 'vitest';"],
  resolvable: ['cli/nowhere.ts', "import './nowhere-else.js';"],
  'no-cycles': ['shared/cycle.ts', "import { b } from './other-end.js';\nexport const a = () => b;"],
  'no-zod-in-workflows': ['workflows/zod.ts', "import '../shared/contracts/schema.js';"],
  'no-node-reachable-from-workflows': ['workflows/hash.ts', "import '../shared/contracts/hash.js';"],
};

let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'memagent-imports-'));
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'));
  for (const file of [...CONFIGS, 'package.json', 'tsconfig.json']) copyFileSync(join(root, file), join(project, file));
});
afterAll(() => rm(project, { recursive: true, force: true }));

/** `rule: file` of everything found, over both configurations. */
async function findings(files: Record<string, string>): Promise<string[]> {
  for (const folder of FOLDERS) {
    await rm(join(project, folder), { recursive: true, force: true });
    await mkdir(join(project, folder));
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), `${text}\n`);
  }
  const found: string[] = [];
  for (const config of CONFIGS) {
    const args = ['node_modules/dependency-cruiser/bin/dependency-cruise.mjs', '--config', config, ...FOLDERS];
    const result = await runProgram(process.execPath, args, { cwd: project, timeoutMs: 180_000 });
    expect(result.output).toMatch(/dependency violations/);
    found.push(...[...result.output.matchAll(/error ([\w-]+): (\S+)/g)].map((match) => `${match[1]}: ${match[2]}`));
  }
  return found;
}

describe('the import rules', () => {
  it('let allowed imports pass, also types of the recipe in workflow code', async () => {
    const files = {
      'workflows/a.ts':
        "import { sleep } from '@temporalio/workflow';\n" +
        "import type { R } from '../shared/contracts/r.js';\nexport const f = (r: R) => [r, sleep];",
      'shared/contracts/r.ts': "import type { s } from './schema.js';\nexport type R = typeof s;",
      'shared/contracts/schema.ts': "import { z } from 'zod';\nexport const s = z.string();",
      'cli/a.ts': "import '../workers/x.js';",
      'workers/x.ts': "import '@temporalio/worker';",
    };
    expect(await findings(files)).toEqual([]);
  });

  it('find one planted fault each', async () => {
    const found = await findings({ ...TARGETS, ...Object.fromEntries(Object.values(PLANTED)) });
    for (const [rule, [file]] of Object.entries(PLANTED)) expect(found).toContain(`${rule}: ${file}`);
  });
});
