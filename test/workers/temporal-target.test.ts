import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../shared/contracts/user-error.js';
import { nextFreePort } from '../../shared/runtime/ports.js';
import {
  connectClient,
  isLoopback,
  isReachable,
  localTarget,
  portOf,
  targetEnvironment,
  temporalTarget,
} from '../../workers/temporal-target.js';

let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-target-'));
  env = { HOME: folder, XDG_CONFIG_HOME: folder, TEMPORAL_CONFIG_FILE: join(folder, 'none.toml') };
});
afterAll(() => rm(folder, { recursive: true }));

describe('temporalTarget', () => {
  it('is Temporal’s default without any configuration', () => {
    expect(temporalTarget(env)).toEqual({
      address: 'localhost:7233',
      namespace: 'default',
      explicit: false,
      options: { address: 'localhost:7233' },
    });
  });

  it('follows the TEMPORAL_* variables, with TLS as soon as there is an API key', () => {
    const target = temporalTarget({
      ...env,
      TEMPORAL_ADDRESS: 'cloud:7233',
      TEMPORAL_NAMESPACE: 'n',
      TEMPORAL_API_KEY: 'k',
    });
    expect(target).toMatchObject({ address: 'cloud:7233', namespace: 'n', explicit: true });
    expect(target.options).toMatchObject({ apiKey: 'k', tls: true });
  });

  it('follows the Temporal CLI’s configuration file and its profiles', async () => {
    const file = join(folder, 'temporal.toml');
    await writeFile(file, '[profile.default]\naddress = "a:1"\n[profile.lab]\naddress = "b:2"\nnamespace = "lab"\n');
    expect(temporalTarget({ ...env, TEMPORAL_CONFIG_FILE: file }).address).toBe('a:1');
    const lab = temporalTarget({ ...env, TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'lab' });
    expect(lab).toMatchObject({ address: 'b:2', namespace: 'lab' });
  });

  it('says that a configuration file is wrong instead of ignoring it', async () => {
    const file = join(folder, 'broken.toml');
    await writeFile(file, 'address = = 3');
    expect(() => temporalTarget({ ...env, TEMPORAL_CONFIG_FILE: file })).toThrow(UserError);
  });
});

describe('a server that is not there', () => {
  it('is an error that says where it was looked for and how to start one', async () => {
    const port = await nextFreePort(17_000);
    const target = localTarget(`127.0.0.1:${port}`, 'default');
    expect(await isReachable(target)).toBe(false);
    const error = await connectClient(target).then(
      () => undefined,
      (problem: UserError) => problem
    );
    expect(error).toBeInstanceOf(UserError);
    expect(error?.message).toContain(`127.0.0.1:${port}`);
    expect(error?.cure).toContain('memagent dev');
  });
});

describe('addresses', () => {
  it('are told apart into this machine and others', () => {
    for (const address of ['localhost:7233', '127.0.0.1:1', '127.0.1.1', '[::1]:7233'])
      expect(isLoopback(address)).toBe(true);
    for (const address of ['temporal:7233', '10.0.0.1:7233', 'localhost.evil.org:7233'])
      expect(isLoopback(address)).toBe(false);
    expect(portOf('localhost')).toBe(7233);
    expect(portOf('127.0.0.1:81')).toBe(81);
  });

  it('of a local server replace every other Temporal setting for child processes', () => {
    const child = targetEnvironment(localTarget('127.0.0.1:81', 'n'), {
      PATH: '/bin',
      TEMPORAL_API_KEY: 'k',
      TEMPORAL_TLS: 'true',
      TEMPORAL_CLI: '/t',
    });
    expect(child).toEqual({
      PATH: '/bin',
      TEMPORAL_CLI: '/t',
      TEMPORAL_ADDRESS: '127.0.0.1:81',
      TEMPORAL_NAMESPACE: 'n',
    });
  });
});
