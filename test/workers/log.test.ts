import { DefaultLogger } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { createLog, secretsOf, temporalLogger } from '../../workers/log.js';

function recorded(env: Record<string, string> = {}, level = 'debug') {
  const lines: string[] = [];
  const log = createLog({ env, level, stream: { write: (line) => void lines.push(line) } });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
}

describe('the log', () => {
  it('writes message and fields of the SDK’s loggers, at their levels', () => {
    const { log, last } = recorded({}, 'trace');
    const logger = temporalLogger(log);
    const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50 } as const;
    for (const [name, level] of Object.entries(levels) as [keyof typeof levels, number][]) {
      logger[name]('a message', { workflowId: 'w-1' });
      expect(last()).toMatchObject({ level, msg: 'a message', workflowId: 'w-1' });
    }
    logger.log('WARN', 'another');
    expect(last()).toMatchObject({ level: 40, msg: 'another' });
  });

  it('takes the very calls the SDK makes: fields with symbol keys and errors', () => {
    const { log, last } = recorded();
    new DefaultLogger('INFO', ({ level, message, meta }) => temporalLogger(log).log(level, message, meta)).error(
      'lost',
      {
        [Symbol('task')]: 1,
        error: new Error('connection reset'),
      }
    );
    expect(last()).toMatchObject({ level: 50, msg: 'lost', error: { message: 'connection reset' } });
  });

  it('keeps what every worker says about itself for debugging', () => {
    const { log, lines } = recorded({}, 'info');
    const logger = temporalLogger(log);
    logger.info('Worker state changed', { sdkComponent: 'worker', state: 'RUNNING' });
    logger.warn('No workflows registered, not polling for workflow tasks', { sdkComponent: 'worker' });
    expect(lines).toEqual([]);
    logger.warn('Failed to heartbeat', { sdkComponent: 'worker' });
    logger.info('step done', { sdkComponent: 'activity' });
    expect(lines).toHaveLength(2);
  });

  it('never writes secrets: not as members, not inside messages, errors or other members', () => {
    const env = {
      HF_TOKEN: 'hf_0123456789"quoted',
      TEMPORAL_API_KEY: 'key-abcdefgh',
      SHORT_TOKEN: 'abc',
      PATH: '/bin',
    };
    const { log, lines } = recorded(env);
    log.info(
      { headers: { authorization: 'Bearer x' }, options: { connection: { apiKey: 'other-key' } } },
      'connecting'
    );
    log.error(
      { error: new Error(`401 for hf_0123456789"quoted`), url: 'https://h/?k=key-abcdefgh' },
      'key-abcdefgh refused'
    );
    const text = lines.join('');
    for (const secret of ['Bearer x', 'other-key', 'key-abcdefgh', '0123456789']) expect(text).not.toContain(secret);
    expect(text).toContain('connecting');
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect(secretsOf(env)).toHaveLength(2);
  });
});
