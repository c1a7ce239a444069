import { describe, expect, it } from 'vitest';
import type { Progress } from '../../shared/contracts/progress.js';
import type { Snapshot } from '../../cli/pipeline-client.js';
import { changeLines } from '../../cli/progress/lines.js';
import { screen } from '../../cli/progress/screen.js';
import { exitCodeOf, outcomeText } from '../../cli/outcome.js';

const AT = '2026-01-01T00:00:00.000Z';

function progress(changes: Partial<Progress> = {}): Progress {
  return {
    pipelineId: 'run-1',
    recipe: 'laptop',
    state: 'running',
    startedAt: AT,
    updatedAt: AT,
    stages: [
      {
        name: 'data',
        state: 'done',
        queue: 'data@local',
        retries: 0,
        startedAt: AT,
        finishedAt: '2026-01-01T00:00:02.000Z',
      },
      { name: 'train:relax', state: 'running', queue: 'train@local', retries: 1, startedAt: AT },
      { name: 'evaluate', state: 'pending', queue: 'evaluate@local', retries: 0 },
    ],
    arms: {
      relax: {
        phase: 'train',
        step: 3,
        totalSteps: 10,
        rewards: [0.1, 0.5, 0.9],
        kl: 0.03,
        tokensPerSecond: 31_234,
        weightsVersion: 3,
      },
    },
    evaluations: {},
    attempts: [],
    failedAttempts: 0,
    artifacts: [],
    ...changes,
  };
}

function snapshot(changes: Partial<Progress> = {}, own: Partial<Snapshot> = {}): Snapshot {
  return {
    id: 'run-1',
    runId: 'r',
    status: 'RUNNING',
    startedAt: AT,
    historyEvents: 10,
    progress: progress(changes),
    ...own,
  };
}

const HOSTILE = 'boom \u001b[2J\u001b]0;pwned\u0007</script>\u0000\nsecond line';

describe('plain lines', () => {
  it('say everything at first and then only what changed', () => {
    const before = snapshot();
    expect(changeLines(undefined, before)).toEqual([
      `run-1: laptop, started ${AT}`,
      'train:relax: running',
      'train:relax: step 3/10, reward 0.900, 31.2k tokens/s, KL 0.030',
      'data: done after 2.0 s',
    ]);
    expect(changeLines(before, snapshot())).toEqual([]);
    const arm = { ...progress().arms['relax']!, step: 4, rewards: [0.1, 0.5, 0.9, 0.8] };
    expect(changeLines(before, snapshot({ arms: { relax: arm }, etaSeconds: 95 }))).toEqual([
      'train:relax: step 4/10, reward 0.800, 31.2k tokens/s, KL 0.030, ETA 1 min 35 s',
    ]);
  });

  it('name failed attempts, evaluations, halts with their cure, notes and the end', () => {
    const attempt = { stage: 'train:relax', activity: 'trainStep', step: 3, type: 'HostLost', message: 'gone', at: AT };
    const halt = { stage: 'train:relax', type: 'HostLost', message: 'gone', cure: 'Start a worker.', since: AT };
    const stages = progress().stages.map((stage) =>
      stage.name === 'evaluate' ? { ...stage, note: 'no worker polls' } : stage
    );
    const after = snapshot(
      {
        stages,
        attempts: [attempt],
        failedAttempts: 1,
        halt,
        evaluations: { 'base/dev': { total: 4, done: 4, errors: 1, subEmPct: 50, boxedEmPct: 25 } },
      },
      { status: 'FAILED', closedAt: AT }
    );
    expect(changeLines(snapshot(), after)).toEqual([
      'evaluate base/dev: 4/4, 1 errors, sub-EM 50.0 %, boxed EM 25.0 %',
      'evaluate: no worker polls',
      'trainStep step 3 of train:relax failed: HostLost: gone',
      'halted in train:relax: HostLost: gone',
      'fix: Start a worker. Decide: memagent decide run-1 --action retry|abort',
      'run-1: failed',
    ]);
  });
});

describe('a change of what waits for the operator', () => {
  it('is told in a line: a pause with its command, a warning once, smaller settings', () => {
    const pause = { stages: ['smoke:relax'], since: AT };
    const fallback = { stage: 'train:relax', at: AT, settings: { rolloutConcurrency: 8 } };
    const after = snapshot({ state: 'paused', pause, warnings: ['the webhook did not answer'], fallbacks: [fallback] });
    expect(changeLines(snapshot(), after)).toEqual([
      'warning: the webhook did not answer',
      'train:relax goes on with rolloutConcurrency 8 after OutOfMemory',
      'paused after smoke:relax. Decide: memagent decide run-1 --action continue|abort',
    ]);
    expect(changeLines(after, after)).toEqual([]);
    expect(screen(after, { columns: 100, colors: false })).toContain('paused after smoke:relax');
  });
});

describe('the picture', () => {
  it('has a row a stage, the reward as a curve, retries and the last failure', () => {
    const attempt = {
      ...{ stage: 'train:relax', activity: 'trainStep', step: 3, type: 'HostLost', message: 'gone', at: AT },
      ...{ phase: 'restore', host: 'node-7', secondsLost: 4 },
    };
    const stages = progress().stages.map((stage) =>
      stage.name === 'train:relax' ? { ...stage, secondsLost: 4 } : stage
    );
    const text = screen(snapshot({ stages, attempts: [attempt], failedAttempts: 1, etaSeconds: 65 }), {
      columns: 100,
      colors: false,
    });
    expect(text).toMatch(/^run-1 {2}running .* training ETA 1 min 05 s$/m);
    expect(text).toMatch(/✔ data +2\.0 s/);
    expect(text).toMatch(
      /▶ train:relax .*step 3\/10, reward 0\.900, 31\.2k tokens\/s, KL 0\.030 {2}1 retry, 4\.0 s lost/
    );
    expect(text).toContain('▁▅█');
    expect(text).toContain('1 failed attempt, 4.0 s lost:');
    expect(text).toMatch(/ago +stage +step +phase +host +lost +cause/);
    expect(text).toMatch(/train:relax +3 +restore +node-7 +4\.0 s +HostLost: gone/);
  });

  it('lets nothing of a model’s or failure’s text reach the terminal as a control', () => {
    const attempt = { stage: HOSTILE, activity: HOSTILE, type: HOSTILE, message: HOSTILE.repeat(10_000), at: AT };
    const halt = { stage: HOSTILE, type: HOSTILE, message: HOSTILE, cure: HOSTILE, since: AT };
    const stages = [
      { name: HOSTILE, state: 'running' as const, queue: HOSTILE, retries: 0, startedAt: AT, note: HOSTILE },
    ];
    const hostile = snapshot(
      {
        recipe: HOSTILE,
        stages,
        attempts: [attempt],
        failedAttempts: 1,
        halt,
        verdict: { outcome: 'passed', sentence: HOSTILE },
      },
      {
        problem: HOSTILE,
        status: 'FAILED',
        failure: { type: HOSTILE, message: HOSTILE, details: { problems: [HOSTILE], cure: HOSTILE } },
      }
    );
    const shown = [
      screen(hostile, { columns: 80, colors: false }),
      ...changeLines(undefined, hostile),
      outcomeText(hostile),
    ];
    for (const text of shown) {
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      expect(text).not.toContain('pwned');
      expect(text.length).toBeLessThan(10_000);
    }
  });
});

describe('the exit code of a run', () => {
  it('is 0 passed, 1 not passed or failed, 2 not comparable, 130 while it runs', () => {
    const ended = (outcome: 'passed' | 'not-passed' | 'not-comparable') =>
      snapshot({ verdict: { outcome, sentence: 's' } }, { status: 'COMPLETED', closedAt: AT });
    expect(exitCodeOf(ended('passed'))).toBe(0);
    expect(exitCodeOf(ended('not-passed'))).toBe(1);
    expect(exitCodeOf(ended('not-comparable'))).toBe(2);
    for (const status of ['FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT'] as const)
      expect(exitCodeOf(snapshot({}, { status }))).toBe(1);
    expect(exitCodeOf(snapshot())).toBe(130);
    expect(exitCodeOf(undefined)).toBe(130);
  });
});
