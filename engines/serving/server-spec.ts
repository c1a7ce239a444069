/** Programs that serve a Hugging Face model folder over HTTP. */
export type ServerKind = 'sglang' | 'vllm';

/** What a server is started for. */
export interface ServerSpec {
  /** Folder of the lease and the log; one server per folder. */
  folder: string;
  kind: ServerKind;
  /** Hugging Face model folder. */
  modelDir: string;
  /** Prompt and reply together. Unit: tokens. */
  contextLength: number;
  /** Program and its first arguments. Default: {@link DEFAULT_COMMANDS}. */
  command?: readonly string[] | undefined;
  /** More arguments, after ours. */
  args: readonly string[];
  /** More environment variables. */
  env: Readonly<Record<string, string>>;
  /** Longest time until it answers. Unit: seconds. */
  startSeconds: number;
}

export const DEFAULT_COMMANDS: Readonly<Record<ServerKind, readonly string[]>> = {
  sglang: ['python3', '-m', 'sglang.launch_server'],
  vllm: ['vllm', 'serve'],
};

/** Only programs of this host talk to a server that was started here. */
const HOST = '127.0.0.1';

/**
 * The command line of a server: the same for every model but for folder and port.
 *
 * @returns program and arguments
 */
export function commandLine(spec: ServerSpec, port: number): [string, ...string[]] {
  const [program = '', ...first] = spec.command ?? DEFAULT_COMMANDS[spec.kind];
  const place = ['--host', HOST, '--port', String(port)];
  const context = String(spec.contextLength);
  const own =
    spec.kind === 'sglang'
      ? ['--model-path', spec.modelDir, ...place, '--context-length', context]
      : [spec.modelDir, ...place, '--max-model-len', context];
  return [program, ...first, ...own, ...spec.args];
}
