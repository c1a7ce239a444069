import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { closeInferenceServer, openInferenceServer, type WantedServer } from '../../../activities/inference-server.js';
import { readLease } from '../../../engines/supervision/lease.js';
import type { GenerateReply } from '../../../shared/inference/types.js';
import { isPortFree } from '../../../shared/runtime/ports.js';
import { groupMembers } from '../../../shared/runtime/process-group.js';
import { LAPTOP, PROMPTS, temporaryFolder } from '../embedded/support.js';

/** Python of an installed SGLang, and the program of an installed vLLM; both may be built for CPU. */
const SGLANG_PYTHON = process.env['MEMAGENT_SGLANG_PYTHON'];
const VLLM_PROGRAM = process.env['MEMAGENT_VLLM_PROGRAM'];

const LIMIT_MS = 400_000;
const never = new AbortController().signal;

const COMMON_ENV = { CUDA_VISIBLE_DEVICES: '', HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '2' };

const SETTINGS = {
  sglang: {
    command: [SGLANG_PYTHON ?? '', '-m', 'sglang.launch_server'],
    args: (
      '--device cpu --dtype float32 --attention-backend torch_native --sampling-backend pytorch --skip-server-warmup ' +
      '--cuda-graph-backend-decode=disabled --cuda-graph-backend-prefill=disabled --disable-overlap-schedule ' +
      '--max-total-tokens 8192 --max-running-requests 8 --mem-fraction-static 0.3'
    ).split(' '),
    env: { ...COMMON_ENV, SGLANG_USE_CPU_ENGINE: '1' },
  },
  vllm: {
    command: [VLLM_PROGRAM ?? '', 'serve'],
    args: '--dtype float32 --enforce-eager --max-num-seqs 8 --enable-scale-out'.split(' '),
    env: {
      ...COMMON_ENV,
      TORCHDYNAMO_DISABLE: '1',
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_NO_USAGE_STATS: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      VLLM_HOST_IP: '127.0.0.1',
    },
  },
} as const;

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
  const program = engine === 'sglang' ? SGLANG_PYTHON : VLLM_PROGRAM;

  it.skipIf(program === undefined)(
    'is started, gives the embedded engine’s greedy reply, and leaves nothing (skipped where MEMAGENT_SGLANG_PYTHON or MEMAGENT_VLLM_PROGRAM names none)',
    async () => {
      const folder = await temporaryFolder();
      const common = { modelDir: LAPTOP, contextLength: 128, concurrency: 4 };
      const ours: WantedServer = { ...common, folder: join(folder.path, 'ours'), settings: undefined };
      const settings = { engine, ...SETTINGS[engine], startSeconds: 300 };
      const theirs: WantedServer = {
        ...common,
        folder: join(folder.path, 'theirs'),
        settings: { ...settings, command: [...settings.command], args: [...settings.args] },
      };
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
