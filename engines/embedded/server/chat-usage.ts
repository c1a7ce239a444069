/** Token counts of a chat reply, in SGLang's form. */
export function usage(promptTokens: number, completionTokens: number): object {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: null,
    reasoning_tokens: 0,
    completion_tokens_details: null,
  };
}
