import type { ServerRecord } from '../../evaluation/types.js';
import { html, type Html } from '../html.js';
import type { RunData } from '../run-data.js';
import { mark, table } from './parts.js';

interface ServedBy {
  server: ServerRecord;
  models: Set<string>;
}

/** Which program answered, in which version, and how it was started: for base and arms alike, or where it differs. */
export function serverBlock({ evaluations, models }: RunData): Html | undefined {
  const groups = new Map<string, ServedBy>();
  for (const { model, summary } of evaluations) {
    const server = summary?.server;
    if (server === undefined) continue;
    const { protocol, engine_version: version, launch } = server;
    const key = JSON.stringify([protocol, version, launch]);
    const group = groups.get(key) ?? { server, models: new Set() };
    groups.set(key, { ...group, models: group.models.add(model) });
  }
  if (groups.size === 0) return undefined;
  const named = (of: ReadonlySet<string>): string => models.filter((model) => of.has(model)).join(', ');
  const same = groups.size === 1;
  const rows = [...groups.values()].map(({ server, models: of }) => {
    const { launch } = server;
    const settings = Object.entries(launch?.env ?? {}).map(([name, value]) => `${name}=${value}`);
    return [
      named(of),
      launch?.engine ?? (isEmbedded(server) ? 'embedded' : `a running server, ${server.protocol} protocol`),
      server.engine_version ?? 'not told',
      flags(launch?.args ?? []),
      flags(settings),
    ];
  });
  return html`<h3>Inference server of the evaluation</h3>
    <p>
      ${
        same
          ? mark('good', 'the same server and settings for every model')
          : mark('bad', 'models were served differently')
      }
    </p>
    ${table(
      'Inference server of the evaluation',
      [
        { label: 'Models' },
        { label: 'Engine' },
        { label: 'Version' },
        { label: 'Arguments', note: 'beside model, port, context' },
        { label: 'Environment' },
      ],
      rows
    )}`;
}

function isEmbedded({ engine_version: version }: ServerRecord): boolean {
  return version?.startsWith('memagent-embedded') === true;
}

/** Each flag with its value, so that lines break between flags and never within one. */
function flags(words: readonly string[]): Html {
  const parts: string[] = [];
  for (const word of words) {
    const last = parts.at(-1);
    if (last?.startsWith('-') === true && !/[ =]/.test(last) && !word.startsWith('-'))
      parts[parts.length - 1] = `${last} ${word}`;
    else parts.push(word);
  }
  return parts.length === 0 ? html`–` : html`${parts.map((part) => html`<code class="flag">${part}</code> `)}`;
}
