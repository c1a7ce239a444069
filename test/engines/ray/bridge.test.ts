import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../shared/runtime/entry.js';
import { runProgram } from '../../../shared/temporal-binary/run-program.js';
import { temporaryFolder } from '../embedded/support.js';

const FIXTURES = fileURLToPath(new URL('../../fixtures/bridge', import.meta.url));
const BRIDGE = join(packageRoot(), 'engines/ray/bridge');
const hasPython = (await runProgram('python3', ['--version'], { timeoutMs: 10_000 })).code === 0;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

/** Calls the bridge in Python and prints what the expression gives. */
async function python(
  rollout: string | undefined,
  expression: string
): Promise<{ code: number | null; output: string }> {
  const env = {
    ...process.env,
    PYTHONPATH: `${BRIDGE}:${FIXTURES}`,
    PYTHONDONTWRITEBYTECODE: '1',
    MEMAGENT_EXPORT: folder.path,
    ...(rollout === undefined ? {} : { MEMAGENT_ROLLOUT: `fake_rollout.${rollout}` }),
  };
  const program = `import memagent_bridge as bridge; print(${expression})`;
  return await runProgram('python3', ['-c', program], { env, timeoutMs: 30_000 });
}

async function exported(name: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder.path, name), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const TURN = { tokens: [1, 2, 3], response_length: 2, loss_mask: [1, 1], rollout_log_probs: [-0.5, -0.25] };

describe.skipIf(!hasPython)('the rollout bridge (skipped without python3)', () => {
  it('is called as Relax calls, passes the result on, and exports every trajectory', async () => {
    const call = 'type(bridge.generate_rollout(None, 3, None, "client", evaluation=False)).__name__';
    expect(await python('relax', call)).toMatchObject({ code: 0, output: 'RolloutFnTrainOutput\n' });
    expect(await exported('rollout-000003.jsonl')).toEqual(
      [0, 1].map((index) => ({
        rollout_id: 3,
        group_index: 0,
        index,
        status: 'completed',
        reward: index,
        final_output: 'ü',
        weight_versions: ['7'],
        turns: [TURN],
      }))
    );
  });

  it('is called as VIME and slime call, without the client', async () => {
    expect((await python('vime', 'len(bridge.generate_rollout(None, 0, None, False))')).output).toBe('1\n');
    expect(await exported('rollout-000000.jsonl')).toMatchObject([
      { status: 'truncated', reward: 1, turns: [TURN, TURN] },
    ]);
  });

  it('exports no evaluation', async () => {
    expect(await python('vime', 'bridge.generate_rollout(None, 0, None, evaluation=True) is not None')).toMatchObject({
      code: 0,
    });
    expect(await python('relax', 'bridge.generate_rollout(None, 1, None, "client", True) is not None')).toMatchObject({
      code: 0,
    });
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('says what to set when no framework is installed', async () => {
    const { code, output } = await python(undefined, 'bridge.generate_rollout(None, 0, None)');
    expect(code).toBe(1);
    expect(output).toContain('set MEMAGENT_ROLLOUT to module.function');
  });
});
