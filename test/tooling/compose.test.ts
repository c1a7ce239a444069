import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../shared/runtime/entry.js';
import { findBinary } from '../../shared/temporal-binary/find-binary.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';
import { RETENTION_DAYS } from '../../workers/namespace-setup.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../../workers/search-attributes.js';

interface Service {
  image?: string;
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string>;
  healthcheck?: { test: string[] };
  ports?: string[];
  command?: string[];
  entrypoint?: string[];
  configs?: { source: string; target: string }[];
  volumes?: string[];
}

interface Compose {
  services: Record<string, Service>;
  configs: Record<string, { content: string }>;
  volumes: Record<string, unknown>;
}

const compose = parse(readFileSync(join(packageRoot(), 'docker-compose.temporal.yml'), 'utf8'), {
  strict: true,
  merge: true,
  uniqueKeys: true,
}) as Compose;

/** The shell script that a service runs. */
function script(name: string): string {
  const service = compose.services[name];
  expect(service?.entrypoint).toEqual(['/bin/sh', '-eu']);
  expect(service?.command?.[0]).toBe('-c');
  // Compose turns $$ into $ itself.
  return (service?.command?.[1] ?? '').replaceAll('$$', '$');
}

function commands(): string[] {
  return script('namespace-setup').trim().split('\n');
}

describe('docker-compose.temporal.yml', () => {
  it('has a server on PostgreSQL, its UI and the set-ups, every image at a pinned version', () => {
    const names = ['namespace-setup', 'postgresql', 'schema-setup', 'temporal', 'ui'];
    expect(Object.keys(compose.services).sort()).toEqual(names);
    for (const [name, service] of Object.entries(compose.services))
      expect(service.image, name).toMatch(/^[a-z0-9/-]+:\d+\.\d+/);
  });

  it('starts services in order: only when what they need is healthy, or has ended well', () => {
    const order = Object.fromEntries(
      Object.entries(compose.services).map(([name, service]) => [name, service.depends_on ?? {}])
    );
    expect(order).toEqual({
      postgresql: {},
      'schema-setup': { postgresql: { condition: 'service_healthy' } },
      temporal: { 'schema-setup': { condition: 'service_completed_successfully' } },
      'namespace-setup': { temporal: { condition: 'service_healthy' } },
      ui: { temporal: { condition: 'service_healthy' } },
    });
    for (const name of ['postgresql', 'temporal']) expect(compose.services[name]?.healthcheck, name).toBeDefined();
  });

  it('has set-up scripts that a shell can read', async () => {
    for (const name of ['schema-setup', 'namespace-setup']) {
      const result = await runProgram('/bin/sh', ['-n', '-c', script(name)], { timeoutMs: 10_000 });
      expect(result, name).toMatchObject({ code: 0, output: '' });
    }
  });

  it('gives the server the database’s name and the dynamic configuration that it names', () => {
    const server = compose.services['temporal'];
    expect(server?.environment).toMatchObject({ POSTGRES_SEEDS: 'postgresql', DB: 'postgres12' });
    const [config] = server?.configs ?? [];
    expect(config?.target).toBe(server?.environment?.['DYNAMIC_CONFIG_FILE_PATH']);
    expect(parse(compose.configs[config?.source ?? '']?.content ?? '')).toHaveProperty([
      'system.forceSearchAttributesCacheRefreshOnRead',
    ]);
  });

  it('keeps the database in a declared volume and opens ports on this machine only', () => {
    const [volume] = (compose.services['postgresql']?.volumes?.[0] ?? '').split(':');
    expect(Object.keys(compose.volumes)).toContain(volume);
    const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
    expect(ports).toEqual(['127.0.0.1:7233:7233', '127.0.0.1:8080:8080']);
  });

  it('keeps finished runs as long as the development stack does', () => {
    expect(commands()).toContain(
      `temporal operator namespace update --namespace default --retention ${RETENTION_DAYS}d`
    );
  });

  it('registers exactly the search attributes that the workflows set', () => {
    const registered = commands().flatMap((command) => {
      const match = /search-attribute create --namespace default --name (\w+) --type (\w+)$/.exec(command);
      return match === null ? [] : [[match[1], match[2]?.toUpperCase()]];
    });
    expect(Object.fromEntries(registered)).toEqual(SEARCH_ATTRIBUTE_TYPES);
  });

  it('sets up a real server with its script, also when it runs a second time', async () => {
    const bin = await mkdtemp(join(tmpdir(), 'memagent-compose-'));
    const environment = await TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'existing-path', path: (await findBinary()).path } },
    });
    try {
      await symlink((await findBinary()).path, join(bin, 'temporal'));
      const TEMPORAL_ADDRESS = environment.connection.options.address;
      const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, TEMPORAL_ADDRESS };
      for (const run of ['first', 'second']) {
        const result = await runProgram('/bin/sh', ['-eu', '-c', script('namespace-setup')], {
          env,
          timeoutMs: 60_000,
        });
        expect(result.code, `${run} run: ${result.output}`).toBe(0);
      }
      const namespace = 'default';
      const { config } = await environment.client.workflowService.describeNamespace({ namespace });
      expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(RETENTION_DAYS * 86_400);
      const reply = await environment.connection.operatorService.listSearchAttributes({ namespace });
      expect(Object.keys(reply.customAttributes ?? {})).toEqual(
        expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTE_TYPES))
      );
    } finally {
      await environment.teardown();
      await rm(bin, { recursive: true });
    }
  });
});
