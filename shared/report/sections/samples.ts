import { count } from '../format.js';
import { html, jsonForScript, type Html } from '../html.js';
import { modelClass } from '../charts/figure.js';
import type { RunData } from '../run-data.js';
import type { SampleCollection } from '../samples/collect-samples.js';
import { absent, section } from './parts.js';

/** The browser of samples: its controls; `assets/report.js` builds the rest from the embedded JSON, as text nodes. */
export function samplesSection(data: RunData, samples: SampleCollection): Html {
  if (samples.datasets.length === 0) {
    return section('samples', 'Samples', '', absent('There are no samples to look at.'));
  }
  const shown = samples.datasets.reduce((sum, { items }) => sum + items.length, 0);
  const total = samples.datasets.reduce((sum, dataset) => sum + dataset.total, 0);
  const lead = html`Look at what the models did: how the memory changed from chunk to chunk, where the answer entered it
  and where it was lost. ${scope(samples, shown, total)}`;
  return section('samples', 'Samples', lead, [
    html`<form class="controls" id="sample-controls" hidden>
        <label
          >Data set
          <select id="sample-dataset"></select
        ></label>
        <label
          >Show
          <select id="sample-filter"></select
        ></label>
        <label class="grow"
          >Search
          <input id="sample-search" type="search" placeholder="question, answer or prediction" autocomplete="off"
        /></label>
      </form>
      <p id="sample-count" class="muted" role="status" aria-live="polite"></p>
      <div id="sample-list"></div>
      <p class="print-only">
        The browser of samples needs a screen; the samples are in eval/&lt;model&gt;/&lt;data set&gt;.jsonl.
      </p>
      <p class="absent" id="sample-fallback">The browser of samples needs scripts. The samples are in eval/.</p>
      <script type="application/json" id="sample-data">
        ${jsonForScript({ colours: colours(data), datasets: samples.datasets })}
      </script>`,
    samples.problems.map((problem) => absent(problem)),
  ]);
}

function colours(data: RunData): Record<string, string> {
  return Object.fromEntries(data.models.map((model) => [model, modelClass(data.models, model)]));
}

function scope(samples: SampleCollection, shown: number, total: number): Html {
  const all = shown === total;
  const limit = html`Texts are shown up to ${count(samples.textLimit)} characters.`;
  if (all) return html`All ${count(total)} items are here. ${limit}`;
  return html`<strong>${count(shown)} of ${count(total)} items are here</strong> (this page stays under 5 MB): failed
    ones first, then those on which the models differ; all are in <code>eval/</code>. ${limit}`;
}
