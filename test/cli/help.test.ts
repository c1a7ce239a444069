import { describe, expect, it } from 'vitest';
import { memagent } from './support.js';

const COMMANDS = [
  'demo',
  'dev',
  'worker',
  'start',
  'watch',
  'status',
  'decide',
  'cancel',
  'report',
  'recipe check',
  'recipe schema',
  'recipe diff',
  'data convert',
  'data lengths',
  'eval',
  'verify',
  'conformance',
  'replay',
  'doctor',
];

/** Commands that print facts. */
const WITH_JSON = COMMANDS.filter((name) => !['dev', 'worker', 'recipe schema'].includes(name));

describe('help', () => {
  it.each(COMMANDS)('of %s has a description and an example that starts with its name', async (name) => {
    const { code, out } = await memagent([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^Usage: memagent ${name}`));
    expect(out).toMatch(new RegExp(`Examples?:\\n {2}\\$ (\\S+=\\S+ )?memagent ${name}`));
  });

  it.each(WITH_JSON)('of %s offers --json', async (name) => {
    expect((await memagent([...name.split(' '), '--help'])).out).toContain('--json');
  });

  it('of the program lists every command and the exit codes', async () => {
    const { code, out } = await memagent(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(out).toMatch(new RegExp(`^ {2}${name.split(' ')[0]}\\b`, 'm'));
    expect(out).toContain('0 done or passed, 1 failed or not passed, 2 wrong use or not comparable, 130 interrupted');
  });
});

describe('wrong use', () => {
  it.each([
    [['wokrer'], /unknown command 'wokrer'[\s\S]*Did you mean worker/],
    [['watch'], /missing required argument 'run'/],
    [['start', 'a.json', '--ide', 'x'], /unknown option '--ide'[\s\S]*Did you mean --id/],
    [['decide', 'run', '--action', 'maybe'], /Allowed choices are retry, abort/],
    [['decide', 'run'], /required option '--action <action>' not specified/],
    [['worker', '--role', 'trian'], /unknown role "trian"; did you mean “train”/],
    [['worker'], /no role was given/],
    [['worker', '--role', 'train', '--tag', 'H100 x8'], /"H100 x8" is not a tag/],
    [['worker', '--role', 'train', '--concurrency', '0'], /whole number ≥ 1/],
    [['start', 'recipes/laptop.json', '--id', '../x'], /"\.\.\/x" cannot be the id of a run/],
    [['report', 'no-such-run'], /there is no run directory no-such-run/],
    [['verify', 'no-such-run'], /there is no run directory no-such-run/],
    [['start', 'none.json'], /none\.json does not exist/],
  ])('%j ends with code 2 and says what is wrong', async (args, pattern) => {
    const { code, err } = await memagent(args);
    expect(err).toMatch(pattern);
    expect(err).not.toMatch(/\n\s+at /);
    expect(code).toBe(2);
  });
});
