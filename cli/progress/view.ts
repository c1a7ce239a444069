import type { Terminal } from '../terminal.js';
import type { Snapshot } from '../pipeline-client.js';
import { cleanLine } from '../terminal/clean-text.js';
import { changeLines } from './lines.js';
import { screen } from './screen.js';

/** Shows snapshots as they come. */
export interface View {
  show(snapshot: Snapshot): void;
  outage(error: Error): void;
  /** Leaves the last picture standing. */
  end(): void;
}

function now(): string {
  return new Date().toISOString().slice(11, 19);
}

/** One line a change. */
function lineView(terminal: Terminal): View {
  let last: Snapshot | undefined;
  let away = false;
  return {
    show: (snapshot) => {
      if (away) terminal.out(`${now()} the Temporal server answers again`);
      away = false;
      for (const line of changeLines(last, snapshot)) terminal.out(`${now()} ${line}`);
      // A snapshot without progress must not make everything look new when progress is back.
      last =
        snapshot.progress === undefined
          ? { ...snapshot, ...(last?.progress && { progress: last.progress }) }
          : snapshot;
    },
    outage: (error) => {
      if (!away)
        terminal.out(`${now()} the Temporal server does not answer (${cleanLine(error.message)}); waiting for it`);
      away = true;
    },
    end: () => undefined,
  };
}

/** One JSON object a change. */
function jsonView(terminal: Terminal): View {
  let last = '';
  return {
    show: (snapshot) => {
      const text = JSON.stringify(snapshot);
      if (text !== last) terminal.out(text);
      last = text;
    },
    outage: (error) => terminal.err(`the Temporal server does not answer: ${cleanLine(error.message)}`),
    end: () => undefined,
  };
}

/** One picture, drawn again in place. */
async function liveView(terminal: Terminal): Promise<View> {
  const { default: logUpdate } = await import('log-update');
  let picture = '';
  const draw = (): void => logUpdate(picture);
  return {
    show: (snapshot) => {
      picture = screen(snapshot, { columns: terminal.columns, colors: terminal.env['NO_COLOR'] === undefined });
      draw();
    },
    outage: (error) =>
      logUpdate(`${picture}\nthe Temporal server does not answer (${cleanLine(error.message, 100)}); waiting`),
    end: () => {
      draw();
      logUpdate.done();
    },
  };
}

/** The view that fits: JSON when asked for, a redrawn picture on a terminal, plain lines otherwise. */
export async function createView(terminal: Terminal, json: boolean): Promise<View> {
  if (json) return jsonView(terminal);
  return terminal.isTTY ? await liveView(terminal) : lineView(terminal);
}
