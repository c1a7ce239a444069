import { existsSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { truncationSentence } from '../../shared/evaluation/disclosure.js';
import { evaluateDataset } from '../../shared/evaluation/evaluator.js';
import type { EvaluateOptions, EvaluationOutcome, EvaluationProgress } from '../../shared/evaluation/types.js';
import { withFileLock } from '../../shared/temporal-binary/file-lock.js';
import { keepHeapLean } from '../../shared/runtime/lean-heap.js';
import { loadTokenizer } from '../../shared/tokenizer/tokenizer.js';
import type { CommandContext } from '../command.js';
import { forPerson } from '../for-person.js';
import { cleanLine } from '../terminal/clean-text.js';
import { plural } from '../terminal/units.js';
import type { EvalOptions } from './options.js';
import { createProgressView } from './progress.js';
import { resultText } from './result-text.js';
import { checkRoom, modelVocabSize, openServer, type OpenServer } from './server.js';

/** @returns 0 complete, 1 incomplete, 130 interrupted */
export async function runEval(context: CommandContext, options: EvalOptions): Promise<number> {
  keepHeapLean();
  const { terminal } = context;
  const paths = resultPaths(options);
  const interrupted = terminal.handleInterrupts();
  let progress: EvaluationProgress | undefined;
  let server: OpenServer | undefined;
  const view = await createProgressView(terminal, options.json === true);
  try {
    const tokenizer = await loadTokenizer(options.tokenizer);
    server = await openServer(options, terminal.env, interrupted);
    checkRoom(server.facts, options);
    const settings = await evaluateOptions(options, server, tokenizer);
    const outcome = await alone(paths.samplesPath, () =>
      evaluateDataset({
        ...settings,
        ...paths,
        signal: interrupted,
        onProgress: (now) => view.show((progress = now)),
      })
    );
    view.end();
    return report(context, options, outcome);
  } catch (error) {
    view.end();
    if (!interrupted.aborted) throw forPerson(error, CURES);
    sayInterrupted(context, options, progress);
    return EXIT.interrupted;
  } finally {
    await server?.client.close();
  }
}

/** @throws UserError for a data file that is not there or a name that is no file name */
function resultPaths(options: EvalOptions): Pick<EvaluateOptions, 'samplesPath' | 'summaryPath'> {
  if (!existsSync(options.data))
    throw new UserError(`there is no data file ${options.data}`, {
      cure: 'Check --data. `memagent data lengths` makes evaluation files from an official HotpotQA file.',
      exitCode: EXIT.usage,
    });
  const name = options.runName ?? basename(options.data, extname(options.data));
  if (!/^[\w][\w.-]*$/.test(name))
    throw new UserError(`${JSON.stringify(name.slice(0, 150))} cannot be the name of result files`, {
      cure: 'Give --run-name: letters, digits, dot, dash and underscore.',
      exitCode: EXIT.usage,
    });
  return { samplesPath: join(options.out, `${name}.jsonl`), summaryPath: join(options.out, `${name}.summary.json`) };
}

async function evaluateOptions(
  options: EvalOptions,
  { client, facts }: OpenServer,
  tokenizer: EvaluateOptions['tokenizer']
): Promise<Omit<EvaluateOptions, 'samplesPath' | 'summaryPath'>> {
  const { chunkTokens, memoryTokens, finalTokens, maxChunks } = options;
  const vocabulary = await modelVocabSize(facts, options);
  return {
    dataPath: options.data,
    // The folder says nothing about the content, and would tell equal evaluations apart.
    dataName: basename(options.data),
    client,
    tokenizer,
    modelName: options.model,
    // Checkpoints of one model bring their own copies of its tokenizer: they are the same by content, not by path.
    tokenizerName: `sha256:${tokenizer.sha256}`,
    limits: { chunkTokens, memoryTokens, finalTokens, maxChunks },
    flavour: options.flavour,
    mode: options.mode,
    contextCut: options.cut,
    enableThinking: options.enableThinking === undefined ? null : options.enableThinking === 'true',
    temperature: options.temperature,
    topP: options.topP,
    samplesPerItem: options.samplesPerItem,
    concurrency: options.concurrency,
    attemptsPerSample: options.attempts,
    seed: options.seed === 'none' ? null : options.seed,
    expectedModelPath: options.model,
    keepOtherResults: true,
    ...(options.items === undefined ? {} : { items: options.items }),
    ...(options.contextLength === undefined ? {} : { serverContext: options.contextLength }),
    ...(options.maxInputTokens === undefined ? {} : { maxInputTokens: options.maxInputTokens }),
    ...(vocabulary === undefined ? {} : { modelVocabSize: vocabulary }),
  };
}

/** Two processes that write the same files would each take the other's samples for garbage. */
async function alone<T>(samplesPath: string, body: () => Promise<T>): Promise<T> {
  let entered = false;
  try {
    return await withFileLock(`${samplesPath}.lock`, 0, () => {
      entered = true;
      return body();
    });
  } catch (error) {
    // A lock that cannot be written is not one that somebody holds.
    if (entered || error instanceof PipelineError || (error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new UserError(`another evaluation writes these results: ${(error as Error).message}`, {
      cure: 'Wait for it, stop it, or give another --out or --run-name.',
      exitCode: EXIT.usage,
    });
  }
}

const CURES = {
  EngineUnavailable: 'Start the server or correct --endpoint; the same command goes on where it stopped.',
  GenerationFailed: 'Check --protocol and --endpoint, and look at the server’s log.',
  PinMismatch: 'Check --model, --tokenizer and --context-length against the server.',
  DataInvalid: 'Check --data and --tokenizer.',
  StorageFailed: 'Free space or give yourself permission; the same command goes on where it stopped.',
};

function report({ terminal, args }: CommandContext, options: EvalOptions, outcome: EvaluationOutcome): number {
  const { summary } = outcome;
  const complete = summary.errors === 0;
  if (options.json === true) {
    const { samplesPath, summaryPath, server, reused, resumed, seconds } = outcome;
    const truncation = truncationSentence(summary) ?? null;
    terminal.out(
      JSON.stringify({ complete, samplesPath, summaryPath, truncation, reused, resumed, seconds, server, summary })
    );
  } else terminal.out(resultText(outcome));
  if (complete) return EXIT.ok;
  const left = `${plural(summary.errors, 'sample')} of ${summary.total} ${summary.errors === 1 ? 'has' : 'have'} no result`;
  terminal.err(`incomplete: ${left} (zeros in the scores). Ask for them again with\n  ${sameCommand(args)}`);
  return EXIT.failed;
}

function sayInterrupted(
  { terminal, args }: CommandContext,
  options: EvalOptions,
  progress: EvaluationProgress | undefined
): void {
  const done = progress === undefined ? undefined : progress.done - progress.errors;
  if (options.json === true)
    terminal.out(
      JSON.stringify({ complete: false, interrupted: true, done: done ?? null, total: progress?.total ?? null })
    );
  const kept =
    done === undefined ? 'what was done is kept' : `${done} of ${plural(progress!.total, 'sample')} are kept`;
  terminal.err(`interrupted: ${kept}. Go on with\n  ${sameCommand(args)}`);
}

/** The command line again, quoted for a shell. */
function sameCommand(args: readonly string[]): string {
  const quoted = args.map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`));
  return cleanLine(['memagent', ...quoted].join(' '), 4_000);
}
