import { bytes, count, plural, significant } from '../format.js';
import { html, type Html, type Value } from '../html.js';
import type { ArtifactRow, RunData, SourceFile } from '../run-data.js';
import { factList, hash, section, table } from './parts.js';

/** Artifacts listed one by one; per-step files are summed up, they are all in the manifest. */
const LISTED_LIMIT = 80;

/** Hashes, revisions, versions and the recipe: what somebody needs to do it again or to check it. */
export function provenanceSection(data: RunData): Html {
  const lead = html`<code>memagent verify</code> with this folder checks all of it off-line: hashes of every file, the
    ledger and reward of every step, scores, summaries and verdict.`;
  return section('provenance', 'Provenance', lead, [
    identity(data),
    data.modelFiles.length > 0 && [html`<h3>Base model</h3>`, sourceTable('Files of the base model', data.modelFiles)],
    data.sources.length > 0 && [html`<h3>Data</h3>`, sourceTable('Data files', data.sources)],
    artifactBlock(data.artifacts),
    recipeBlock(data),
  ]);
}

function identity(data: RunData): Html {
  const versions = [...new Set(data.artifacts.flatMap(({ producer }) => producer?.codeVersion ?? []))].sort();
  const facts: [string, Value][] = [
    ['Run', data.progress?.pipelineId ?? data.name],
    ['Recipe', data.recipe?.name ?? '–'],
    ['Recipe hash', data.progress?.recipeHash === undefined ? '–' : hash(data.progress.recipeHash)],
    ['Engine', data.recipe?.engine ?? '–'],
    ...revisions(data),
    ['Stage code', versions.join(', ') || '–'],
    ...data.arms.flatMap(({ name, conversion }): [string, Value][] =>
      conversion === undefined
        ? []
        : [
            [
              `${name} weights`,
              `${count(conversion.tensors)} tensors, largest change from the base ${significant(conversion.largest_difference)}`,
            ],
          ]
    ),
  ];
  return factList(facts);
}

function revisions(data: RunData): [string, Value][] {
  const { recipe } = data;
  const facts: [string, Value][] = [];
  if (recipe?.model.id !== undefined) facts.push(['Model', `${recipe.model.id} @ ${recipe.model.revision ?? '–'}`]);
  if (recipe?.data.repo !== undefined) facts.push(['Data set', `${recipe.data.repo} @ ${recipe.data.revision ?? '–'}`]);
  if (recipe?.data.generate !== undefined) facts.push(['Data', `generated, seed ${recipe.data.generate.seed}`]);
  for (const [name, arm] of Object.entries(recipe?.arms ?? {})) {
    if (arm.commit !== undefined) facts.push([`${name} code`, `${arm.repo ?? ''} @ ${arm.commit}`]);
  }
  return facts;
}

function sourceTable(caption: string, files: readonly SourceFile[]): Html {
  const noted = files.some(({ note }) => note !== undefined);
  return table(
    caption,
    [{ label: 'File' }, { label: 'SHA-256' }, { label: 'Size', number: true }, ...(noted ? [{ label: 'Facts' }] : [])],
    files.map(({ name, sha256, bytes: size, note }) => [
      name,
      hash(sha256),
      Number.isFinite(size) ? bytes(size) : '–',
      ...(noted ? [note] : []),
    ])
  );
}

function artifactBlock(artifacts: readonly ArtifactRow[]): Html | undefined {
  if (artifacts.length === 0) return undefined;
  const single = artifacts.filter(({ path }) => !/\/step-\d+\.\w+$/.test(path));
  const listed = single.slice(0, LISTED_LIMIT);
  const rest = artifacts.length - listed.length;
  const total = artifacts.reduce((sum, row) => sum + row.bytes, 0);
  const columns = [
    { label: 'Artifact' },
    { label: 'Kind' },
    { label: 'SHA-256' },
    { label: 'Size', number: true },
    { label: 'Made by' },
  ];
  const rows = listed.map((row) => [
    html`<code>${row.path}</code>`,
    row.kind,
    hash(row.sha256),
    bytes(row.bytes),
    madeBy(row),
  ]);
  return html`<details class="fold">
    <summary>Artifacts: ${count(artifacts.length)}, ${bytes(total)}</summary>
    ${table('Artifacts', columns, rows)}
    <p class="muted">
      ${rest > 0 && html`${plural(rest, 'file')} of single steps not listed here. `}<code>manifest.json</code> has every
      file with its inputs, code version and attempt.
    </p>
  </details>`;
}

function madeBy(row: ArtifactRow): Value {
  if (row.producer === null) return '–';
  const attempt = row.producer.attempt > 1 ? `, attempt ${row.producer.attempt}` : '';
  const reused = row.reusedFrom === undefined ? '' : `, reused from ${row.reusedFrom}`;
  return html`${row.producer.activity} <span class="muted">${row.producer.codeVersion}${attempt}${reused}</span>`;
}

function recipeBlock(data: RunData): Html | undefined {
  if (data.recipe === undefined) return undefined;
  return html`<details class="fold">
    <summary>Normalized recipe</summary>
    <pre>${JSON.stringify(data.recipe, null, 2)}</pre>
  </details>`;
}
