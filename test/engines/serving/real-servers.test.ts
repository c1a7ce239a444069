import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { closeInferenceServer, openInferenceServer, type WantedServer } from '../../../activities/inference-server.js';
import { readLease } from '../../../engines/supervision/lease.js';
import type { GenerateReply } from '../../../shared/inference/types.js';
import { isPortFree } from '../../../shared/runtime/ports.js';
import { groupMembers } from '../../../shared/runtime/process-group.js';
import { REAL_SERVERS, realServer } from '../../helpers/real-servers.js';
import { LAPTOP, PROMPTS, temporaryFolder } from '../embedded/support.js';

const LIMIT_MS = 400_000;
const never = new AbortController().signal;

async function greedy(wanted: WantedServer): Promise<GenerateReply> {
  const { inference } = await openInferenceServer(wanted, never);
  return await inference.generate({
    promptIds: PROMPTS[0] ?? [],
    maxNewTokens: 8,
    temperature: 0,
    topP: 1,
    stopTokenIds: [],
    wantLogProbs: true,
  });
}

describe.each(['sglang', 'vllm'] as const)('the real %s', (engine) => {
  const settings = realServer(engine);

  it.skipIf(settings === undefined)(
    `is started, gives the embedded engine’s greedy reply, and leaves nothing (skipped where ${REAL_SERVERS[engine]} names none)`,
    async () => {
      const folder = await temporaryFolder();
      const common = { modelDir: LAPTOP, contextLength: 128, concurrency: 4 };
      const ours: WantedServer = { ...common, folder: join(folder.path, 'ours'), settings: undefined };
      const theirs: WantedServer = { ...common, folder: join(folder.path, 'theirs'), settings };
      try {
        const reply = await greedy(theirs);
        const lease = await readLease(theirs.folder);
        const expected = await greedy(ours);
        expect(reply.outputIds).toEqual(expected.outputIds);
        reply.logProbs?.forEach((logProb, at) =>
          expect(Math.abs(logProb - (expected.logProbs?.[at] ?? NaN))).toBeLessThan(1e-4)
        );
        await closeInferenceServer(theirs.folder, theirs.settings);
        expect(await groupMembers(lease?.engine.pid ?? 0)).toEqual([]);
        expect(await isPortFree(lease?.port ?? 0)).toBe(true);
      } finally {
        await closeInferenceServer(theirs.folder, theirs.settings);
        await closeInferenceServer(ours.folder, undefined);
        await folder.remove();
      }
    },
    LIMIT_MS
  );
});
