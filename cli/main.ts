#!/usr/bin/env node
import { EXIT } from '../shared/contracts/user-error.js';
import { runCommandLine } from './program.js';
import { processTerminal } from './terminal.js';

/** A command that does not end this long after it was asked to is left. Unit: milliseconds. */
const LONGEST_STOP_MS = 40_000;

const interrupt = new AbortController();
let handled = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    const impatient = interrupt.signal.aborted && signal === 'SIGINT';
    if (!handled || impatient) process.exit(EXIT.interrupted);
    interrupt.abort();
    setTimeout(() => process.exit(EXIT.interrupted), LONGEST_STOP_MS).unref();
  });
}
// `memagent watch … | head`: a reader that has seen enough is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed)
);

const terminal = processTerminal(() => {
  handled = true;
  return interrupt.signal;
});
const code = await runCommandLine(process.argv.slice(2), terminal);
// Connections and native threads would keep the process alive for a while after the work is done.
process.exit(code);
