import { PipelineError } from './pipeline-error.js';

/** The first place where a text is not JSON, with a cure where the mistake is a known one. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError';

  constructor(
    readonly problem: string,
    readonly cure: string,
    readonly offset: number
  ) {
    super(problem);
  }
}

/** Nesting deeper than this is refused: the scanner is recursive. */
const DEEPEST = 200;

const NUMBER = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const SPACE = /[ \t\r\n]*/y;

/** Checks a text against RFC 8259 and, stricter than JSON.parse, refuses a key that occurs twice in one object. */
class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  scan(): void {
    if (this.text.charCodeAt(0) === 0xfeff)
      throw new JsonTextError('the file starts with a byte order mark', 'Save it as UTF-8 without BOM.', 0);
    this.space();
    if (this.at === this.text.length) this.fail('the file is empty', 'Write one JSON object.');
    this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail(`unexpected ${this.seen()} after the end of the value`, 'Remove it.');
  }

  private fail(problem: string, cure: string, offset = this.at): never {
    throw new JsonTextError(problem, cure, offset);
  }

  private seen(): string {
    if (this.at >= this.text.length) return 'end of the file';
    const character = String.fromCodePoint(this.text.codePointAt(this.at)!);
    return character < ' ' ? `control character ${JSON.stringify(character)}` : `“${character}”`;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private space(): void {
    this.match(SPACE);
    if (this.text[this.at] === '/' && /[/*]/.test(this.text[this.at + 1] ?? ''))
      this.fail('JSON has no comments', 'Remove the comment, or use the key `description`.');
  }

  private value(depth: number): void {
    if (depth > DEEPEST) this.fail(`more than ${DEEPEST} levels of nesting`, 'Check the brackets.');
    const first = this.text[this.at];
    if (first === '{') return this.object(depth);
    if (first === '[') return this.array(depth);
    if (first === '"') return void this.string();
    if (first === "'") this.fail('text in single quotes', 'Use double quotes.');
    if (first === '-' || (first !== undefined && first >= '0' && first <= '9')) return this.number();
    this.word();
  }

  private number(): void {
    const found = this.match(NUMBER);
    if (found === undefined || /[\w.]/.test(this.text[this.at] ?? ''))
      this.fail('a malformed number', 'Write it like 12, -0.5 or 2e-4.');
  }

  private word(): void {
    const start = this.at;
    const found = this.match(WORD);
    if (found === 'true' || found === 'false' || found === 'null') return;
    this.at = start;
    if (found === undefined) this.fail(`expected a value, found ${this.seen()}`, 'Write the value, or remove the key.');
    this.fail(`unknown word “${found}”`, 'Write text in double quotes; the only words are true, false and null.');
  }

  private string(): string {
    const start = this.at;
    for (this.at += 1; this.at < this.text.length; this.at++) {
      const character = this.text[this.at]!;
      if (character === '"') {
        this.at += 1;
        return this.unquoted(start);
      }
      if (character === '\\') this.at += 1;
      else if (character < ' ')
        this.fail(`${this.seen()} inside a text`, 'Close the double quote, or write \\n for a line break.');
    }
    return this.fail('a text without its closing double quote', 'Close it.', start);
  }

  private unquoted(start: number): string {
    try {
      return JSON.parse(this.text.slice(start, this.at)) as string;
    } catch {
      return this.fail('a malformed escape in a text', 'Use \\\\ for a backslash, \\" for a quote.', start);
    }
  }

  private array(depth: number): void {
    const open = this.at;
    this.at += 1;
    this.space();
    if (this.text[this.at] === ']') return void (this.at += 1);
    do {
      this.space();
      this.value(depth + 1);
      this.space();
    } while (this.comma(']', open));
  }

  private object(depth: number): void {
    const open = this.at;
    const keys = new Set<string>();
    this.at += 1;
    this.space();
    if (this.text[this.at] === '}') return void (this.at += 1);
    do {
      this.space();
      this.member(keys, depth);
      this.space();
    } while (this.comma('}', open));
  }

  private member(keys: Set<string>, depth: number): void {
    const start = this.at;
    if (this.text[start] !== '"')
      this.fail(`expected a key in double quotes, found ${this.seen()}`, 'Write keys like "name".');
    const key = this.string();
    if (keys.has(key)) this.fail(`the key ${JSON.stringify(key)} occurs twice`, 'Keep one of the two.', start);
    keys.add(key);
    this.space();
    if (this.text[this.at] !== ':')
      this.fail(`expected “:” after the key ${JSON.stringify(key)}, found ${this.seen()}`, 'Write "key": value.');
    this.at += 1;
    this.space();
    this.value(depth + 1);
  }

  /** @returns whether another member follows */
  private comma(close: ']' | '}', open: number): boolean {
    const found = this.text[this.at];
    if (found === close) {
      this.at += 1;
      return false;
    }
    if (found === undefined) this.fail(`the “${this.text[open]}” is never closed`, `Add “${close}”.`, open);
    if (found !== ',') this.fail(`expected “,” or “${close}”, found ${this.seen()}`, `Is a comma missing before it?`);
    const comma = this.at;
    this.at += 1;
    this.space();
    if (this.text[this.at] === close) this.fail(`a comma before “${close}”`, 'Remove the comma.', comma);
    return true;
  }
}

/** Line and column, both from 1; a column is a UTF-16 unit, as editors count. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - (before.lastIndexOf('\n') + 1) + 1 };
}

/**
 * Parses a JSON text that a person wrote.
 *
 * @param where - the file's name, for the message
 * @throws PipelineError RecipeInvalid with line, column, what is wrong and how to correct it
 */
export function parseJsonText(text: string, where: string): unknown {
  try {
    new Scanner(text).scan();
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    const { line, column } = lineAndColumn(text, error.offset);
    const place = `${where}, line ${line}, column ${column}`;
    throw new PipelineError('RecipeInvalid', `${place}: not JSON: ${error.problem}. ${error.cure}`, {
      problems: [`line ${line}, column ${column}: ${error.problem}`],
      where: place,
      cure: error.cure,
    });
  }
  return JSON.parse(text) as unknown;
}
