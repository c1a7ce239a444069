import { Session } from 'node:inspector/promises';

/** Share of the time that one function used by itself. */
export interface Share {
  name: string;
  /** 0 to 1. */
  share: number;
}

const INTERVAL_US = 200;
/** Below this share a function is counted as "other". */
const SMALLEST = 0.01;

/** Samples this process while `body` runs; kernels appear by the names of their operations. Largest share first. */
export async function profile(body: () => void): Promise<Share[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
    await session.post('Profiler.start');
    body();
    const { profile: made } = await session.post('Profiler.stop');
    const names = new Map(made.nodes.map(({ id, callFrame }) => [id, frameName(callFrame)]));
    const spent = new Map<string, number>();
    (made.samples ?? []).forEach((id, at) => {
      const name = names.get(id) ?? '';
      spent.set(name, (spent.get(name) ?? 0) + (made.timeDeltas?.[at] ?? 0));
    });
    return shares(spent);
  } finally {
    session.disconnect();
  }
}

/** `assembly/gemm/tile4` → `kernel gemm/tile4`; a JavaScript function with its file. */
function frameName({ functionName, url }: { functionName: string; url: string }): string {
  if (url.startsWith('wasm:')) return `kernel ${functionName.split('/').slice(-2).join('/')}`;
  const file = url.split('/').at(-1)?.replace(/\.js$/, '');
  return file === undefined || file === '' ? functionName : `${file}: ${functionName || '(top level)'}`;
}

function shares(spent: ReadonlyMap<string, number>): Share[] {
  const total = [...spent.values()].reduce((sum, value) => sum + value, 0);
  const all = [...spent].map(([name, value]) => ({ name, share: value / total })).sort((a, b) => b.share - a.share);
  const shown = all.filter(({ share }) => share >= SMALLEST);
  const rest = all.filter(({ share }) => share < SMALLEST).reduce((sum, { share }) => sum + share, 0);
  return [...shown, { name: 'other', share: rest }];
}
