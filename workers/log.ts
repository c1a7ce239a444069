import type { LogLevel, LogMetadata, Logger as TemporalLogger } from '@temporalio/common';
import { destination, pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';

/** Members of log records that are never written, wherever they sit. */
const SECRET_MEMBERS = ['apiKey', 'token', 'authorization', 'password', 'secret', 'HF_TOKEN', 'TEMPORAL_API_KEY'];

const SECRET_VARIABLES = /(TOKEN|API_KEY|SECRET|PASSWORD)$/i;

/** Shorter values would black out ordinary words. */
const SHORTEST_SECRET = 8;

type Environment = Record<string, string | undefined>;

/** Values of environment variables that must not reach a log, as they look inside a JSON text. */
export function secretsOf(env: Environment): string[] {
  return Object.entries(env)
    .filter(([name, value]) => SECRET_VARIABLES.test(name) && (value ?? '').length >= SHORTEST_SECRET)
    .map(([, value]) => JSON.stringify(value).slice(1, -1));
}

/** Replaces secrets in every line: also those inside a message or an error of some library. */
export function withoutSecrets(stream: DestinationStream, secrets: readonly string[]): DestinationStream {
  if (secrets.length === 0) return stream;
  return {
    write: (line) => stream.write(secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), line)),
  };
}

export interface LogOptions {
  level?: string;
  env?: Environment;
  /** Default: standard error, for people when it is a terminal, as JSON lines otherwise. */
  stream?: DestinationStream;
}

export function createLog(options: LogOptions = {}): Logger {
  const env = options.env ?? process.env;
  const stream =
    options.stream ??
    (process.stderr.isTTY
      ? pretty({ destination: 2, sync: true, ignore: 'pid,hostname' })
      : destination({ fd: 2, sync: true }));
  return pino(
    {
      level: options.level ?? 'info',
      redact: { paths: SECRET_MEMBERS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[secret]' },
      serializers: { error: pino.stdSerializers.err },
    },
    withoutSecrets(stream, secretsOf(env))
  );
}

const LEVELS: Readonly<Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'>> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** What the SDK reports of every worker that does only one kind of work; nothing is wrong then. */
const EXPECTED = /^No (workflows|activities|Nexus services) registered/;

/** The SDK tells every state of every worker; a person wants to know that the process started and stopped. */
function levelOf(level: LogLevel, message: string, meta?: LogMetadata): LogLevel {
  const routine = EXPECTED.test(message) || (level === 'INFO' && meta?.['sdkComponent'] === 'worker');
  return routine ? 'DEBUG' : level;
}

/** Temporal's logger on pino: message and fields come in the other order. */
export function temporalLogger(log: Logger): TemporalLogger {
  const write = (level: LogLevel, message: string, meta?: LogMetadata): void =>
    log[LEVELS[levelOf(level, message, meta)]](meta ?? {}, message);
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}
