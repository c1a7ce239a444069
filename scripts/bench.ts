/**
 * `make bench`: the embedded policy against PyTorch in one run: same weights, same rows, one thread each, alternating rounds. Prints
 * a table and writes a JSON file.
 *
 * Options: --torch FOLDER (or TORCH_POLICY: the yardstick's scripts), --rounds N, --memory-steps N (0 = not measured), --out FILE.
 * Without the yardstick, or without a Python that has torch and numpy, the engine alone is measured and the reason is printed.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Policy } from '../engines/embedded/policy-api.js';
import { createPolicy, loadQwen3 } from '../engines/embedded/policy.js';
import { writeFileAtomic } from '../shared/artifacts/atomic-file.js';
import { packageRoot } from '../shared/runtime/entry.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { EngineSide } from './bench/engine-side.js';
import { measureMemory } from './bench/memory.js';
import { profile } from './bench/profile.js';
import { type BenchFacts, benchTable, type Contender } from './bench/report.js';
import { type Spent, spend } from './bench/rounds.js';
import { startTorch, type TorchSide } from './bench/torch-side.js';
import { makeWorkload, TASKS, type TaskName, taskTokens, type Workload } from './bench/workload.js';
import { pythonWith } from './python-env.js';

const { values } = parseArgs({
  options: {
    torch: { type: 'string', default: process.env['TORCH_POLICY'] ?? '' },
    rounds: { type: 'string', default: '9' },
    'memory-steps': { type: 'string', default: '1000' },
    out: { type: 'string', default: 'runs/bench.json' },
  },
});
const MODEL = join(packageRoot(), 'models/laptop');
const MAX_SEQUENCE = 128;
/** Rows of a step of the memory measurement. */
const MEMORY_ROWS = 32;
/** Largest relative difference of the two sides' answers that still counts as the same work. */
const AGREEMENT = 1e-3;

type Run = (task: TaskName) => Promise<Spent & { answer: number }>;

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'memagent-bench-'));
  const skipped: string[] = [];
  let torch: TorchSide | undefined;
  try {
    const { config, tensors } = await loadQwen3(MODEL);
    const options = { config, tensors, maxSequence: MAX_SEQUENCE };
    const plain = await createPolicy(options);
    const workload = await makeWorkload(plain, await loadTokenizer(MODEL), MODEL);
    const contenders = new Map<Contender, Run>();
    const add = async (
      name: Contender,
      policy: Policy,
      more: Parameters<typeof createPolicy>[0]
    ): Promise<EngineSide> => {
      const side = new EngineSide(policy, await createPolicy(more), workload);
      contenders.set(name, async (task) => {
        let answer = 0;
        const spent = spend(() => (answer = side.run(task)));
        return { ...spent, answer };
      });
      return side;
    };
    const engine = await add('engine', plain, options);
    torch = await torchSide(workload, folder, skipped);
    if (torch !== undefined) contenders.set('pytorch', torch.run);
    await add('engine, fused', await createPolicy({ ...options, kernels: 'simd-fused' }), {
      ...options,
      kernels: 'simd-fused',
    });
    if (cpus().length > 1)
      await add('engine, 2 threads', await createPolicy({ ...options, threads: 2 }), { ...options, threads: 2 });
    else skipped.push('two threads: this machine has one processor');

    const { runs, answers } = await measure(contenders, Number(values.rounds));
    const facts: BenchFacts = {
      machine: machine(),
      versions: torch?.versions ?? {},
      rounds: Number(values.rounds),
      tokens: taskTokens(workload),
      runs,
      skipped,
      agreement: agreement(answers),
      profile: {
        train: await profile(() => repeat(10, () => engine.run('train'))),
        sample: await profile(() => repeat(20, () => engine.run('sample'))),
      },
      memory: await memoryOverSteps(workload, Number(values['memory-steps'])),
    };
    console.log(benchTable(facts));
    const out = resolve(values.out);
    await writeFileAtomic(out, `${JSON.stringify(facts, null, 2)}\n`);
    console.log(`\n${out}`);
    for (const [task, difference] of Object.entries(facts.agreement))
      if (!(difference < AGREEMENT)) {
        console.error(`the two sides do not agree on ${task}: they did different work`);
        process.exitCode = 1;
      }
  } finally {
    await torch?.end();
    await rm(folder, { recursive: true, force: true });
  }
}

async function torchSide(workload: Workload, folder: string, skipped: string[]): Promise<TorchSide | undefined> {
  if (values.torch === '') {
    skipped.push('PyTorch: no yardstick named (TORCH_POLICY=folder with lib.py)');
    return undefined;
  }
  const yardstick = resolve(values.torch);
  if (!existsSync(join(yardstick, 'lib.py'))) {
    skipped.push(`PyTorch: ${yardstick} has no lib.py`);
    return undefined;
  }
  const path = join(folder, 'workload.json');
  await writeFile(path, JSON.stringify(workload));
  const python = await pythonWith(['torch', 'numpy'], console.error);
  return await startTorch(python, yardstick, path);
}

/** Every contender once a round, in turn, so that a busy moment of the machine hits all of them. The first round does not count. */
async function measure(
  contenders: ReadonlyMap<Contender, Run>,
  rounds: number
): Promise<{ runs: BenchFacts['runs']; answers: Map<Contender, Map<TaskName, number>> }> {
  const runs: BenchFacts['runs'] = {};
  const answers = new Map<Contender, Map<TaskName, number>>();
  for (const name of contenders.keys()) {
    runs[name] = Object.fromEntries(TASKS.map((task) => [task, []])) as unknown as Record<TaskName, Spent[]>;
    answers.set(name, new Map());
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const task of TASKS) {
      for (const [name, run] of contenders) {
        const { answer, ...spent } = await run(task);
        answers.get(name)!.set(task, answer);
        if (round > 0) runs[name]![task].push(spent);
      }
    }
    console.error(`round ${round} of ${rounds}`);
  }
  return { runs, answers };
}

/** Log-prob sums and gradient norms of both sides: equal when both did the same work. */
function agreement(answers: ReadonlyMap<Contender, ReadonlyMap<TaskName, number>>): BenchFacts['agreement'] {
  const [ours, theirs] = [answers.get('engine'), answers.get('pytorch')];
  if (ours === undefined || theirs === undefined) return {};
  const compared: TaskName[] = ['train', 'score', 'step'];
  return Object.fromEntries(
    compared.map((task) => [task, Math.abs(ours.get(task)! - theirs.get(task)!) / Math.abs(theirs.get(task)!)])
  );
}

function repeat(times: number, body: () => void): void {
  for (let i = 0; i < times; i += 1) body();
}

async function memoryOverSteps({ turns }: Workload, steps: number): Promise<BenchFacts['memory']> {
  return steps === 0 ? null : await measureMemory(MODEL, turns.flat().slice(0, MEMORY_ROWS), steps);
}

function machine(): BenchFacts['machine'] {
  return { processor: cpus()[0]?.model ?? '?', cores: cpus().length, node: process.versions.node, load: loadavg()[0]! };
}

await main();
