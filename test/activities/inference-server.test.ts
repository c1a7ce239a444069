import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  closeInferenceServer,
  openInferenceServer,
  type ServingSettings,
  type WantedServer,
} from '../../activities/inference-server.js';
import { ensureServer, stopServer } from '../../engines/serving/server.js';
import { LAPTOP, temporaryFolder } from '../engines/embedded/support.js';
import { fakeCommand, fakeSpec } from '../engines/serving/support.js';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

const never = new AbortController().signal;

function settings(changes: Partial<ServingSettings>): ServingSettings {
  return { engine: 'sglang', args: [], env: {}, startSeconds: 60, ...changes };
}

function wanted(changes: Partial<ServingSettings> | undefined, more: Partial<WantedServer> = {}): WantedServer {
  return {
    folder: join(folder.path, 'serve'),
    settings: changes === undefined ? undefined : settings(changes),
    modelDir: LAPTOP,
    contextLength: 128,
    concurrency: 4,
    ...more,
  };
}

async function closing(want: WantedServer, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } finally {
    await closeInferenceServer(want.folder, want.settings);
  }
}

describe('the inference server of a folder', () => {
  it.each(['sglang', 'vllm'] as const)('is started for %s, with its settings told for the record', async (engine) => {
    const want = wanted({ engine, command: fakeCommand(engine), args: ['--dtype', 'float32'], env: { FLAG: '1' } });
    await closing(want, async () => {
      const server = await openInferenceServer(want, never);
      expect(server).toMatchObject({
        modelName: LAPTOP,
        vocabSize: 512,
        launch: { engine, args: ['--dtype', 'float32'], env: { FLAG: '1' } },
      });
      expect(server.inference.protocol).toBe(engine);
      expect(await openInferenceServer(want, never)).toBe(server);
    });
  });

  it('is the embedded engine where the recipe names none, and refuses ids that the model does not have', async () => {
    const want = wanted(undefined);
    await closing(want, async () => {
      const { inference, launch } = await openInferenceServer(want, never);
      expect(launch).toBeUndefined();
      const request = {
        promptIds: [512],
        maxNewTokens: 1,
        temperature: 0,
        topP: 1,
        stopTokenIds: [],
        wantLogProbs: false,
      };
      await expect(inference.generate(request)).rejects.toThrow(/512/);
    });
  });

  it('that was started and serves another model is refused', async () => {
    const want = wanted({ command: fakeCommand('sglang'), env: { FAKE_SERVER: 'other-model' } });
    await closing(want, () =>
      expect(openInferenceServer(want, never)).rejects.toMatchObject({
        type: 'PinMismatch',
        message: expect.stringContaining('the server has /models/other') as string,
      })
    );
  });

  it('that the recipe names is used as it is and left running, under the name it gives the model', async () => {
    const other = fakeSpec(folder.path, 'other-model', { folder: join(folder.path, 'theirs') });
    const { endpoint } = await ensureServer(other);
    try {
      const want = wanted({ endpoint }, { otherNames: ['/models/other'] });
      const server = await openInferenceServer(want, never);
      expect(server).toMatchObject({ endpoint, modelName: '/models/other' });
      expect(server.launch).toBeUndefined();
      await closeInferenceServer(want.folder, want.settings);
      expect((await fetch(`${endpoint}/health`)).status).toBe(200);
    } finally {
      await stopServer(other.folder);
    }
  });

  it('that the recipe names and that serves something else lets the run wait for a person', async () => {
    const other = fakeSpec(folder.path, 'ready', { folder: join(folder.path, 'theirs'), contextLength: 64 });
    const { endpoint } = await ensureServer(other);
    try {
      await expect(openInferenceServer(wanted({ endpoint }), never)).rejects.toMatchObject({
        type: 'EngineUnavailable',
        message: expect.stringContaining('context length: the server has 64, expected 128') as string,
        details: {
          cure: expect.stringMatching(/^Serve .*models\/laptop with a context of 128 tokens at http/) as string,
        },
      });
    } finally {
      await stopServer(other.folder);
    }
  });

  it('is not asked without the token that the recipe names', async () => {
    const want = wanted({ endpoint: 'http://127.0.0.1:9', tokenEnv: 'NO_SUCH_TOKEN_HERE' });
    await expect(openInferenceServer(want, never)).rejects.toMatchObject({
      type: 'EngineUnavailable',
      details: { cure: expect.stringContaining('Set NO_SUCH_TOKEN_HERE') as string },
    });
  });
});
