import type { ServerKind } from '../../engines/serving/server.js';

/** An installed server, as a recipe's `serving` names it: on CPU, with numbers that do not depend on its batches. */
export interface RealServer {
  engine: ServerKind;
  command: string[];
  args: string[];
  env: Record<string, string>;
  /** Unit: seconds. */
  startSeconds: number;
}

/** Variables that name what is installed: Python of an SGLang, program of a vLLM; both may be built for CPU. */
export const REAL_SERVERS: Readonly<Record<ServerKind, string>> = {
  sglang: 'MEMAGENT_SGLANG_PYTHON',
  vllm: 'MEMAGENT_VLLM_PROGRAM',
};

const START_SECONDS = 300;
const COMMON_ENV = { CUDA_VISIBLE_DEVICES: '', HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '2' };

const SETTINGS: Readonly<Record<ServerKind, (program: string) => Pick<RealServer, 'command' | 'args' | 'env'>>> = {
  sglang: (python) => ({
    command: [python, '-m', 'sglang.launch_server'],
    args: (
      '--device cpu --dtype float32 --attention-backend torch_native --sampling-backend pytorch --skip-server-warmup ' +
      '--cuda-graph-backend-decode=disabled --cuda-graph-backend-prefill=disabled --disable-overlap-schedule ' +
      '--max-total-tokens 8192 --max-running-requests 8 --mem-fraction-static 0.3'
    ).split(' '),
    env: { ...COMMON_ENV, SGLANG_USE_CPU_ENGINE: '1' },
  }),
  vllm: (program) => ({
    command: [program, 'serve'],
    args: '--dtype float32 --enforce-eager --max-num-seqs 8 --enable-scale-out'.split(' '),
    env: {
      ...COMMON_ENV,
      TORCHDYNAMO_DISABLE: '1',
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_NO_USAGE_STATS: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      VLLM_HOST_IP: '127.0.0.1',
    },
  }),
};

/** @returns undefined where the variable names none */
export function realServer(engine: ServerKind): RealServer | undefined {
  const program = process.env[REAL_SERVERS[engine]];
  if (program === undefined || program === '') return undefined;
  return { engine, ...SETTINGS[engine](program), startSeconds: START_SECONDS };
}
