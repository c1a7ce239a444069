import { count, duration, percent } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import { renderPage } from '../page.js';
import type { RunData } from '../run-data.js';
import { absent, section, table } from '../sections/parts.js';
import { evaluationSection } from '../sections/evaluation.js';
import { trainingSection } from '../sections/training.js';
import { differingFields, mergeRuns, runLabels } from './merge-runs.js';
import { costOf } from './run-cost.js';

/** One self-contained page that sets runs side by side: recipes, curves on one chart, evaluations, verdicts, time. */
export function renderRunComparison(runs: readonly RunData[]): string {
  const labels = runLabels(runs);
  const merged = mergeRuns(runs, labels);
  const title = `${labels.join(', ')} – memagent comparison of runs`;
  return renderPage(
    title,
    html`<a class="skip" href="#main">Skip to the comparison</a>
      <div class="wrap">
        <header class="masthead">
          <p class="brand">memagent-pipeline · comparison of runs</p>
          <h1>${labels.join(' · ')}</h1>
        </header>
      </div>
      <main id="main">
        <div class="wrap">
          ${verdicts(runs, labels)} ${recipes(runs, labels)} ${trainingSection(merged)} ${evaluationSection(merged)}
          ${costs(runs, labels)}
        </div>
      </main>
      <footer>
        <div class="wrap">Made by memagent-pipeline from the files of the runs’ folders. This page loads nothing.</div>
      </footer>`
  );
}

function verdicts(runs: readonly RunData[], labels: readonly string[]): Html {
  const rows = runs.map(({ verdict }, at): Value[] => [
    labels[at] ?? '',
    verdict?.outcome ?? 'no verdict',
    verdict?.sentence ?? 'The run ended before it was judged.',
  ]);
  const columns = [{ label: 'Run' }, { label: 'Outcome' }, { label: 'In words' }];
  return section('verdict', 'Verdicts', '', table('Verdicts', columns, rows));
}

function recipes(runs: readonly RunData[], labels: readonly string[]): Html {
  const fields = differingFields(runs);
  const columns = [{ label: 'Field' }, ...labels.map((label) => ({ label }))];
  const content =
    fields.length === 0
      ? absent('The recipes mean the same.')
      : table(
          'Fields in which the recipes differ',
          columns,
          fields.map(({ path, values }) => [
            html`<code>${path}</code>`,
            ...values.map((value) => html`<code>${value}</code>`),
          ])
        );
  return section('recipes', 'Differences of the recipes', '', content);
}

function costs(runs: readonly RunData[], labels: readonly string[]): Html {
  const rows = runs.map((run, at): Value[] => {
    const cost = costOf(run);
    return [
      labels[at] ?? '',
      duration(cost.wallSeconds),
      duration(cost.stageSeconds),
      duration(cost.cpuSeconds),
      percent(cost.wastedShare === undefined ? undefined : 100 * cost.wastedShare),
      count(cost.trainedTokens),
      count(cost.failedAttempts),
      duration(cost.lostSeconds),
      count(cost.reusedStages),
    ];
  });
  const columns = [
    { label: 'Run' },
    { label: 'Wall time', number: true },
    { label: 'Stage time', number: true },
    { label: 'CPU time', number: true },
    { label: 'Wasted', number: true },
    { label: 'Trained tokens', number: true },
    { label: 'Failed attempts', number: true },
    { label: 'Time lost', number: true },
    { label: 'Reused stages', number: true },
  ];
  const lead = 'Stage time counts stages that ran side by side each; a reused stage took its time in another run.';
  return section('cost', 'Time and cost', lead, table('Time and cost of each run', columns, rows));
}
