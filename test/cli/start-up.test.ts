import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { entryPath } from '../../shared/runtime/entry.js';
import { runProgram } from '../../shared/temporal-binary/run-program.js';

it('the command line loads nothing of Temporal before a command needs it', async () => {
  const script = `
    import { createRequire } from 'node:module';
    await import(${JSON.stringify(pathToFileURL(entryPath('cli/program.js')).href)});
    await import(${JSON.stringify(pathToFileURL(entryPath('cli/eval/run-eval.js')).href)});
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    console.log(JSON.stringify(loaded.filter((path) => /@temporalio|protobufjs|grpc/.test(path))));`;
  const result = await runProgram(process.execPath, ['--input-type=module', '-e', script], { timeoutMs: 60_000 });
  expect(result).toMatchObject({ code: 0, output: '[]\n' });
});
