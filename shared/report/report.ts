import { html, type Html } from './html.js';
import { loadRun } from './load-run.js';
import { renderPage } from './page.js';
import type { RunData } from './run-data.js';
import { collectSamples, type SampleCollection } from './samples/collect-samples.js';
import { comparabilitySection } from './sections/comparability.js';
import { costSection } from './sections/cost.js';
import { deviationsSection } from './sections/deviations.js';
import { evaluationSection } from './sections/evaluation.js';
import { keyFigures, masthead } from './sections/head.js';
import { ledgerSection } from './sections/ledger.js';
import { provenanceSection } from './sections/provenance.js';
import { samplesSection } from './sections/samples.js';
import { screeningSection } from './sections/screening.js';
import { timelineSection } from './sections/timeline.js';
import { trainingSection } from './sections/training.js';
import { verdictSection } from './sections/verdict.js';

/** Largest size of a report. Unit: bytes. */
export const REPORT_LIMIT = 5_000_000;
/** Room for samples; what is left is for charts, tables and the page itself. */
const SAMPLE_BUDGET = 3_800_000;

const CONTENTS: readonly [id: string, label: string][] = [
  ['verdict', 'Verdict'],
  ['evaluation', 'Evaluation'],
  ['training', 'Training'],
  ['samples', 'Samples'],
  ['comparison', 'Comparison'],
  ['screening', 'Screening'],
  ['ledger', 'Ledger'],
  ['timeline', 'Timeline'],
  ['cost', 'Cost'],
  ['deviations', 'Deviations'],
  ['provenance', 'Provenance'],
];

/** Sections of this run: the screening only where the recipe has one. */
function contents({ recipe }: RunData): typeof CONTENTS {
  return CONTENTS.filter(([id]) => id !== 'screening' || recipe?.data.screening !== undefined);
}

/**
 * Renders a run as one self-contained HTML page of at most 5 MB from the files of its directory alone: no network, no
 * clock, so that the same files give the same bytes. What a run that stopped half-way does not have is said where it would be.
 *
 * @param runDir the folder `<root>/<pipeline id>`
 * @throws PipelineError `DataInvalid` when it is not a run's folder
 */
export async function renderReport(runDir: string): Promise<string> {
  const data = await loadRun(runDir);
  for (let budget = SAMPLE_BUDGET; ; budget = Math.floor(budget / 2)) {
    const samples = await collectSamples(data, budget);
    const page = renderPage(titleOf(data), body(data, samples));
    if (Buffer.byteLength(page) <= REPORT_LIMIT || budget < 1000) return page;
  }
}

function titleOf(data: RunData): string {
  const outcomes = { passed: 'passed', 'not-passed': 'not passed', 'not-comparable': 'not comparable' };
  const outcome = data.verdict === undefined ? 'no verdict' : outcomes[data.verdict.outcome];
  return `${data.progress?.pipelineId ?? data.name}: ${outcome} – memagent report`;
}

function body(data: RunData, samples: SampleCollection): Html {
  return html`<a class="skip" href="#main">Skip to the verdict</a>
    <div class="wrap">${masthead(data)}</div>
    <main id="main">
      <div class="wrap">${verdictSection(data)} ${keyFigures(data)}</div>
      <nav class="contents" aria-label="Contents">
        <ul class="wrap">
          ${contents(data).map(([id, label]) => html`<li><a href="#${id}">${label}</a></li>`)}
        </ul>
      </nav>
      <div class="wrap">
        ${evaluationSection(data)} ${trainingSection(data)} ${samplesSection(data, samples)}
        ${comparabilitySection(data)} ${screeningSection(data)} ${ledgerSection(data)} ${timelineSection(data)}
        ${costSection(data)} ${deviationsSection(data)} ${provenanceSection(data)}
      </div>
    </main>
    <footer>
      <div class="wrap">
        Made by memagent-pipeline from the files of the run’s folder. This page loads nothing and sends nothing.
      </div>
    </footer>`;
}
