import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import type { ServerKind, ServerSpec } from '../../../engines/serving/server.js';
import { LAPTOP } from '../embedded/support.js';

export type FakeMode = 'ready' | 'dies' | 'oom' | 'host-oom' | 'killed' | 'deaf' | 'other-model' | 'stubborn';

/** Command line of the program that stands in for a server. */
export function fakeCommand(kind: ServerKind): string[] {
  const program = fileURLToPath(new URL('../../fixtures/servers/model-server.mjs', import.meta.url));
  return [process.execPath, program, ...(kind === 'vllm' ? ['serve'] : [])];
}

export function fakeSpec(root: string, mode: FakeMode, changes: Partial<ServerSpec> = {}): ServerSpec {
  const kind = changes.kind ?? 'sglang';
  return {
    folder: join(root, 'server'),
    kind,
    modelDir: LAPTOP,
    contextLength: 128,
    command: fakeCommand(kind),
    args: [],
    env: { FAKE_SERVER: mode },
    startSeconds: 60,
    ...changes,
  };
}
