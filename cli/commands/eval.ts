import { runs, withExamples, type CommandContext } from '../command.js';
import { addEvalOptions, type EvalOptions } from '../eval/options.js';

export function addEval(context: CommandContext): void {
  const command = context.program
    .command('eval')
    .description(
      'Evaluates a model behind an inference server, without Temporal. Ctrl-C stops it; the same command goes on.'
    );
  addEvalOptions(command);
  withExamples(
    command,
    'memagent eval --endpoint http://127.0.0.1:30000 --protocol sglang --model Qwen/Qwen3-4B --tokenizer ./Qwen3-4B --data eval_50.json --out results/base',
    'memagent eval --endpoint http://127.0.0.1:8000 --protocol vllm --model qwen3-4b-relax --tokenizer ./hf --data eval_200.json --out results/relax --context-length 8192'
  );
  command.addHelpText(
    'after',
    '\nExit codes: 0 complete, 1 incomplete (request errors are left), 2 wrong use, 130 interrupted.'
  );
  runs(command, context, async (options: EvalOptions) => {
    const { runEval } = await import('../eval/run-eval.js');
    return await runEval(context, options);
  });
}
