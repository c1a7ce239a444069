import type { CostSummary, CostSums } from '../../cost/summarize-cost.js';
import { count, duration, percent } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { RunData } from '../run-data.js';
import { absent, section, table, type Column } from './parts.js';

/** CPU and GPU time by stage, and how much of it was for nothing. */
export function costSection({ cost, progress }: RunData): Html {
  const title = 'What it cost';
  if (cost === undefined)
    return section('cost', title, '', absent('cost.json is not there: what the stages took is not known.'));
  const gpus = cost.total.gpuSeconds > 0;
  const lead = html`${gpus ? 'GPU and CPU' : 'CPU'} time of every attempt of an activity, measured by the workers. This
  report, and what workers do between activities, are not in it.`;
  const columns: Column[] = [
    { label: 'Stage' },
    { label: 'Attempts', number: true },
    { label: 'Time in them', number: true },
    { label: 'Worker', note: 'CPU', number: true },
    { label: 'Engine', note: 'CPU', number: true },
    ...(gpus ? [{ label: 'GPU time', number: true }] : []),
    { label: 'Wasted', number: true },
    { label: 'Wasted share', number: true },
  ];
  const order = new Map((progress?.stages ?? []).map(({ name }, at) => [name, at]));
  // The activity that writes this report has noted its beginning alone.
  const stages = cost.stages.filter(({ attemptSeconds }) => attemptSeconds > 0);
  stages.sort((a, b) => (order.get(a.stage) ?? 99) - (order.get(b.stage) ?? 99));
  return section('cost', title, lead, [
    table(
      'Cost of each stage',
      columns,
      [...stages.map(({ stage, ...sums }) => row(stage, sums, gpus)), row(html`<b>All stages</b>`, cost.total, gpus)],
      'costs'
    ),
    wasteSentence(cost, gpus),
  ]);
}

function wasteSentence({ total, wastedShare }: CostSummary, gpus: boolean): Html {
  if (total.failed === 0 && wastedShare === 0)
    return html`<p>No attempt failed and no step was trained again: nothing was wasted.</p>`;
  return html`<p>
    Wasted: ${percent(100 * wastedShare)} of the ${gpus ? 'GPU' : 'CPU'} time. Counted are attempts that did not come to
    their end, steps that were trained again after an engine was lost, and stages that were put aside. It is an upper
    bound: finished samples of an interrupted evaluation are kept.
  </p>`;
}

/** A column of zeros would hide the numbers. */
function time(seconds: number): string {
  return seconds === 0 ? '–' : duration(seconds);
}

function row(stage: Value, sums: CostSums, gpus: boolean): Value[] {
  const cpu = sums.workerCpuSeconds + sums.engineCpuSeconds;
  const [spent, wasted] = gpus ? [sums.gpuSeconds, sums.wastedGpuSeconds] : [cpu, sums.wastedCpuSeconds];
  return [
    stage,
    sums.failed === 0
      ? count(sums.attempts)
      : html`${count(sums.attempts)} <span class="muted">${count(sums.failed)} failed</span>`,
    duration(sums.attemptSeconds),
    time(sums.workerCpuSeconds),
    time(sums.engineCpuSeconds),
    ...(gpus ? [time(sums.gpuSeconds)] : []),
    time(wasted),
    wasted > 0 && spent > 0 ? percent((100 * wasted) / spent) : '–',
  ];
}
