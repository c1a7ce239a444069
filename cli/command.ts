import type { Command } from 'commander';
import type { Terminal } from './terminal.js';

/** What every command gets: where to add itself, where to write, where to leave its exit code. */
export interface CommandContext {
  program: Command;
  terminal: Terminal;
  /** The command line as it was given, without the program's name. */
  args: readonly string[];
  /** Exit code of the command that ran. */
  exit: { code: number };
}

/** Adds the example that every help text ends with. */
export function withExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `  $ ${example}`).join('\n');
  return command.addHelpText('after', `\nExample${examples.length === 1 ? '' : 's'}:\n${lines}`);
}

/** Sets a command's action; what it returns becomes the process's exit code. */
export function runs<Args extends unknown[]>(
  command: Command,
  context: CommandContext,
  action: (...args: Args) => Promise<number>
): void {
  command.action(async (...args: unknown[]) => {
    context.exit.code = await action(...(args as Args));
  });
}

export const JSON_OPTION = ['--json', 'print facts as JSON'] as const;
