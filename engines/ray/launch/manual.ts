import { dirname } from 'node:path';
import type { JobSpec } from '../types.js';
import { shellQuote } from './shell.js';

/** Ends a file in the printed script; a file that has it as a line could not be printed. */
const END = 'END_OF_FILE';

/**
 * A job as a shell script that a person can run: writes its files, then submits it with Ray's own command line.
 *
 * @param address the cluster's dashboard
 */
export function manualScript(spec: JobSpec, address: string): string {
  const files = (spec.files ?? []).map(({ path, text }) => {
    const body = text.endsWith('\n') ? text : `${text}\n`;
    return `mkdir -p ${shellQuote(dirname(path))}\ncat > ${shellQuote(path)} <<'${END}'\n${body}${END}\n`;
  });
  const options: [name: string, value: string][] = [
    ['--address', address],
    ['--runtime-env-json', JSON.stringify(spec.runtimeEnv)],
    ['--metadata-json', JSON.stringify(spec.metadata)],
  ];
  const lines = options.map(([name, value]) => `  ${name} ${shellQuote(value)}`);
  const submit = ['ray job submit', ...lines, `  -- bash -c ${shellQuote(spec.entrypoint)}`].join(' \\\n');
  return `${files.join('')}${submit}\n`;
}
