import { finalInstruction, memoryInstruction, type PromptParts } from '../../../shared/memory/prompts.js';
import type { Tokenizer } from '../../../shared/tokenizer/types.js';
import { END_ID } from '../tokenizer/build.js';

/** Renders turns as the recurrent loop does: frozen prompt, one user message, the model's chat template, its tokenizer. */
export class PromptWriter {
  readonly endId = END_ID;

  constructor(private readonly tokenizer: Tokenizer) {}

  encode(text: string): number[] {
    return this.tokenizer.encode(text);
  }

  memory(parts: PromptParts & { chunk: string }): number[] {
    return this.render(memoryInstruction(parts));
  }

  final(parts: PromptParts): number[] {
    return this.render(finalInstruction(parts));
  }

  private render(content: string): number[] {
    return this.encode(this.tokenizer.renderChat([{ role: 'user', content }]));
  }
}
