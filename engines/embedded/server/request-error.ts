/** Which of SGLang's three error bodies a reply has. */
export type ErrorForm =
  /** `{error: {message}}`: the native calls. */
  | 'native'
  /** `{error: "…"}`: a sampling parameter that does not exist. */
  | 'text'
  /** `{object: "error", message, type, param, code}`: bodies that do not parse, and the OpenAI calls. */
  | 'openai';

/** An error of one request: becomes a reply with this status, in SGLang's shape. Never ends the server. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    readonly status: number,
    message: string,
    /** Type of the failure table, for the actor's own client. */
    readonly type?: string,
    readonly form: ErrorForm = 'native'
  ) {
    super(message);
  }

  /** The reply's body. @param form another one than the error's own */
  body(form: ErrorForm = this.form): object {
    const { message, type, status } = this;
    if (form === 'text') return { error: message };
    if (form === 'native') return { error: type === undefined ? { message } : { message, type } };
    return {
      object: 'error',
      message,
      type: this.form === 'openai' ? 'Bad Request' : 'BadRequestError',
      param: null,
      code: status,
    };
  }
}

/** A body that is not what the call takes, in FastAPI's words. */
export function validationError(details: string): RequestError {
  return new RequestError(400, `1 validation error:\n  ${details} [${details}]`, undefined, 'openai');
}
