import { describe, expect, it } from 'vitest';
import { describeError } from '../../cli/describe-error.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { parseRecipe } from '../../shared/contracts/recipe-parse.js';
import { UserError } from '../../shared/contracts/user-error.js';
import { TEMPORAL_CLI } from '../../shared/temporal-binary/binary-kinds.js';
import { BinaryNotFoundError } from '../../shared/temporal-binary/find-binary.js';

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('an error at the terminal', () => {
  it('says what, where and how to fix it, each problem once', () => {
    const recipe = {
      name: 'x',
      engine: 'embedded',
      model: {},
      data: { generate: {} },
      arms: { a: { flavour: 'relaxx' } },
    };
    const { text, exitCode } = describeError(
      thrown(() => parseRecipe(recipe, 'my.json')),
      {}
    );
    expect(text.split('\n')).toEqual([
      'error: my.json: 2 problems in the recipe:',
      expect.stringMatching(/^ {2}- arms\.a\.flavour: expected one of "relax", "vime"/),
      expect.stringMatching(/^ {2}- model: give either/),
      expect.stringMatching(/^fix: Correct every field listed/),
    ]);
    expect(exitCode).toBe(2);
  });

  it('takes the cure from the failure table when it has none of its own', () => {
    const { text, exitCode } = describeError(new PipelineError('StorageFailed', 'runs/x: no space left'), {});
    expect(text).toMatch(/^error: runs\/x: no space left\nfix: Free space or correct the permission/);
    expect(exitCode).toBe(1);
  });

  it('lists everything that was tried to find a program', () => {
    const error = new BinaryNotFoundError(TEMPORAL_CLI, ['PATH: nothing', 'pip: no Python'], 'Put it on PATH.');
    expect(describeError(error, {}).text).toBe(
      'error: no usable `temporal` was found\n  - PATH: nothing\n  - pip: no Python\nfix: Put it on PATH.'
    );
  });

  it.each([
    ['ENOSPC', /The disk is full/],
    ['EACCES', /permission/],
    ['EROFS', /read-only/],
    ['EADDRINUSE', /port/],
  ])('knows the cure of %s', (code, cure) => {
    const error = Object.assign(new Error(`${code}: something, open '/x'`), { code });
    expect(describeError(error, {}).text).toMatch(cure);
  });

  it('fits on one screen and holds no terminal sequence, whatever went wrong', () => {
    const problems = Array.from({ length: 500 }, (_, i) => `\u001b[31mproblem ${i} ${'x'.repeat(10_000)}`);
    const error = new UserError(`\u001b]0;title\u0007${'wrong '.repeat(100_000)}`, {
      problems,
      cure: '\u001b[2Jfix it',
    });
    const { text } = describeError(error, {});
    expect(text.split('\n').length).toBeLessThanOrEqual(24);
    expect(text.length).toBeLessThan(20_000);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('… and 480 more');
  });

  it('shows a stack trace only when asked for', () => {
    const error = new TypeError('surprise');
    expect(describeError(error, {}).text).not.toMatch(/\n\s+at /);
    expect(describeError(error, {}).text).toContain('MEMAGENT_DEBUG=1');
    expect(describeError(error, { MEMAGENT_DEBUG: '1' }).text).toMatch(/\n\s+at /);
    expect(describeError('a thrown text', {}).text).toBe('error: a thrown text');
  });
});
