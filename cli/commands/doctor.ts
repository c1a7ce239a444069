import { EXIT } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { cleanLine } from '../terminal/clean-text.js';

const MARKS = { ok: '✔', warn: '!', fail: '✖' } as const;

export function addDoctor(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('doctor')
    .description('Checks what a run on this machine needs, and says how to get what is missing.')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent doctor');
  runs(command, context, async (options: { json?: boolean }) => {
    const { doctorChecks } = await import('../doctor-checks.js');
    const checks = await doctorChecks(terminal.env);
    if (options.json === true) terminal.out(JSON.stringify(checks));
    else
      for (const { name, state, finding, cure } of checks) {
        terminal.out(`${MARKS[state]} ${name.padEnd(16)} ${cleanLine(finding)}`);
        if (cure !== undefined) terminal.out(`  ${' '.repeat(16)} ${cure}`);
      }
    return checks.some((check) => check.state === 'fail') ? EXIT.failed : EXIT.ok;
  });
}
