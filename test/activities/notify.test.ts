import type { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { notify } from '../../activities/notify.js';
import { activity } from '../../activities/scope.js';
import type { NotifyArgs } from '../../shared/contracts/activities.js';
import { startWebhook, type Webhook } from '../fixtures/webhook.js';

const notice: NotifyArgs['notice'] = { event: 'halted', pipelineId: 'p', recipe: 'r', at: '2026-01-01T00:00:00Z' };
let webhook: Webhook | undefined;
afterEach(async () => {
  vi.unstubAllEnvs();
  await webhook?.close();
  webhook = undefined;
});

async function post(settings: Partial<NotifyArgs['settings']>): Promise<ApplicationFailure | undefined> {
  const url = webhook?.url ?? 'http://127.0.0.1:1/';
  const args = { settings: { webhook: url, header: 'Authorization', ...settings }, notice };
  const run = new MockActivityEnvironment().run(activity(notify), args);
  return await run.then(
    () => undefined,
    (error: unknown) => error as ApplicationFailure
  );
}

describe('a notice to a webhook', () => {
  it('arrives as JSON, with the secret of the environment in the header that was named', async () => {
    webhook = await startWebhook(204);
    vi.stubEnv('HOOK_SECRET', 'Bearer s3cret');
    expect(await post({ secretEnv: 'HOOK_SECRET', header: 'X-Token' })).toBeUndefined();
    expect(webhook.notices).toEqual([notice]);
    expect(webhook.headers[0]).toMatchObject({ 'content-type': 'application/json', 'x-token': 'Bearer s3cret' });
  });

  it('that was refused is not tried again, one that met a failing server is', async () => {
    webhook = await startWebhook(404, 503, 429);
    expect(await post({})).toMatchObject({ type: 'WebhookFailed', nonRetryable: true });
    expect(await post({})).toMatchObject({ type: 'WebhookFailed', nonRetryable: false });
    expect(await post({})).toMatchObject({ type: 'WebhookFailed', nonRetryable: false });
  });

  it('never follows a redirect with its secret', async () => {
    webhook = await startWebhook(307);
    vi.stubEnv('HOOK_SECRET', 'Bearer s3cret');
    expect(await post({ secretEnv: 'HOOK_SECRET' })).toMatchObject({ nonRetryable: true });
    expect(webhook.notices).toHaveLength(1);
  });

  it('names neither secret nor path when nobody listens, and the variable when it is not set', async () => {
    vi.stubEnv('HOOK_SECRET', 'Bearer s3cret');
    const refused = await post({ webhook: 'http://127.0.0.1:1/secret-path', secretEnv: 'HOOK_SECRET' });
    expect(refused?.message).toMatch(/^127\.0\.0\.1:1 did not answer \(ECONNREFUSED\)$/);
    vi.stubEnv('HOOK_SECRET', '');
    const unset = await post({ secretEnv: 'HOOK_SECRET' });
    expect(unset).toMatchObject({ nonRetryable: true });
    expect(unset?.message).toContain('HOOK_SECRET');
  });
});
