import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseRewardCsv } from '../judge-directory.js';
import { tensorboardEvents } from '../tensorboard.js';
import type { CheckBuilder } from './check.js';
import type { Phase, StepRecord } from './verify-steps.js';

/** reward.csv, metrics.csv, TensorBoard's file and the smoke gate are copies of the steps' records: value by value. */
export async function verifySeries(phase: Phase, records: readonly StepRecord[], check: CheckBuilder): Promise<void> {
  const path = (name: string): string => join(phase.directory, phase.folder, name);
  if (existsSync(path('reward.csv'))) {
    await check.attempt(`${phase.folder}/reward.csv`, async () => {
      const points = parseRewardCsv(path('reward.csv'), await readFile(path('reward.csv'), 'utf8'));
      const derived = records.map(({ step, mean_reward: reward }) => ({ step, reward }));
      check.equal(`${phase.folder}/reward.csv`, points, derived);
      check.equal(`${phase.folder}/reward.csv, steps`, points.length, phase.steps);
    });
  }
  if (existsSync(path('metrics.csv'))) {
    await check.attempt(`${phase.folder}/metrics.csv`, async () => {
      const [header = '', ...lines] = (await readFile(path('metrics.csv'), 'utf8')).trimEnd().split('\n');
      const columns = header.split(',').map((column) => (column === 'reward' ? 'mean_reward' : column));
      const derived = records.map((record) => columns.map((column) => String(record[column])).join(','));
      check.equal(`${phase.folder}/metrics.csv`, lines, derived);
      for (const field of Object.keys(records[0] ?? {}))
        // Which weights a step ends with follows from its number.
        if (field !== 'weights_version' && !columns.includes(field))
          check.problem(`${phase.folder}/metrics.csv has no column ${field}.`);
      await verifyEvents(phase, columns.slice(1), records, check);
    });
  }
  if (existsSync(path('gate.json'))) {
    await check.attempt(`${phase.folder}/gate.json`, async () => {
      const gate = JSON.parse(await readFile(path('gate.json'), 'utf8')) as { passed?: unknown; steps?: StepRecord[] };
      verifyGate(phase, gate, records, check);
    });
  }
}

/** The event file is written again from the records: the same bytes. */
async function verifyEvents(
  phase: Phase,
  columns: readonly string[],
  records: readonly StepRecord[],
  check: CheckBuilder
): Promise<void> {
  const name = `${phase.folder}/tensorboard/events.out.tfevents.0.memagent`;
  if (!existsSync(join(phase.directory, name))) return;
  const kind = phase.folder.endsWith('/smoke') ? 'smoke' : 'train';
  const tag = (column: string): string => `${kind}/${column.replace('mean_reward', 'reward')}`;
  const derived = tensorboardEvents(
    records.map((record) => ({
      step: record.step,
      values: Object.fromEntries(columns.map((column) => [tag(column), record[column] as number])),
    }))
  );
  const recorded = await readFile(join(phase.directory, name));
  if (Buffer.compare(recorded, derived) !== 0) check.problem(`${name} is not the series of the steps’ records.`);
}

function verifyGate(
  phase: Phase,
  gate: { passed?: unknown; steps?: StepRecord[] },
  records: readonly StepRecord[],
  check: CheckBuilder
): void {
  const steps = gate.steps ?? [];
  check.equal(`${phase.folder}/gate.json, steps`, steps.length, phase.steps);
  check.equal(`${phase.folder}/gate.json, passed`, gate.passed, true);
  steps.forEach((step, at) => {
    for (const [field, value] of Object.entries(step)) {
      // `equal` is the gate's own finding: the counts of a step that got this far are equal.
      const derived = field === 'equal' ? true : records[at]?.[field];
      check.equal(`${phase.folder}/gate.json, step ${at}, ${field}`, value, derived);
    }
  });
}
