import { Lexer, LiteralSyntaxError } from './lexer.js';
import { unescapeBytes, unescapeString } from './strings.js';
import type { Literal } from './values.js';

/**
 * Syntax tree of an expression, as far as literals need it; `other` is valid Python that is no literal: a plain name, a call
 * with its positional arguments, or anything else.
 */
export type Node =
  | { kind: 'constant'; value: Literal }
  | { kind: 'list' | 'tuple' | 'set'; items: Node[] }
  | { kind: 'dict'; keys: Node[]; values: Node[] }
  | { kind: 'signed'; sign: '+' | '-'; operand: Node }
  | { kind: 'sum'; sign: '+' | '-'; left: Node; right: Node }
  | { kind: 'other'; name?: string; args?: Node[] };

const OTHER: Node = { kind: 'other' };
/** CPython refuses deeper brackets. */
const MAX_DEPTH = 199;
const CONSTANTS: Readonly<Record<string, Literal>> = { True: true, False: false, None: null };
/** Keywords that join expressions. */
const JOINING = new Set(['and', 'or', 'if', 'else', 'in', 'is', 'not', 'for', 'async']);
const PREFIXING = new Set(['not', 'await', 'lambda', 'yield']);

/**
 * Parses one Python expression.
 *
 * @throws LiteralSyntaxError when the text is not Python
 */
export function parseExpression(text: string): Node {
  if (!text.isWellFormed() || text.includes('\0')) throw new LiteralSyntaxError('not a source text');
  const parser = new Parser(new Lexer(text));
  const node = parser.topLevel();
  if (parser.lexer.peek() !== '') throw parser.lexer.error('unexpected text');
  return node;
}

/** A name, also a dotted one, that was not called. */
function isPlainName(node: Node): node is { kind: 'other'; name: string } {
  return node.kind === 'other' && node.name !== undefined && node.args === undefined;
}

class Parser {
  private depth = 0;

  constructor(readonly lexer: Lexer) {}

  /** A tuple may stand without brackets at the top. */
  topLevel(): Node {
    const first = this.expression();
    if (this.lexer.peek() !== ',') return first;
    const items = [first];
    while (this.lexer.accept(',') && this.lexer.peek() !== '') items.push(this.expression());
    return { kind: 'tuple', items };
  }

  private expression(): Node {
    let node = this.signed();
    for (;;) {
      const next = this.lexer.peek();
      if (next === '+' || next === '-') {
        this.lexer.at += 1;
        const right = this.signed();
        // The left side of a complex number is one signed number; a longer sum is none, and need not be kept.
        const simple = node.kind === 'constant' || node.kind === 'signed';
        node = simple ? { kind: 'sum', sign: next, left: node, right } : OTHER;
      } else if (this.joined()) {
        this.signed();
        node = OTHER;
      } else return node;
    }
  }

  /** Takes an operator or keyword between two operands. */
  private joined(): boolean {
    const name = this.lexer.peekName();
    if (JOINING.has(name)) {
      this.lexer.at += name.length;
      // `is not`, `not in`, `async for`
      const second = this.lexer.peekName();
      if (JOINING.has(second)) this.lexer.at += second.length;
      return true;
    }
    return this.lexer.operator() !== null;
  }

  /** Any number of prefix operators; more than one sign is no literal. */
  private signed(): Node {
    let sign: '+' | '-' | null = null;
    let literal = true;
    for (;;) {
      const next = this.lexer.peek();
      const name = this.lexer.peekName();
      if (next === '+' || next === '-') {
        if (sign !== null) literal = false;
        sign = next;
        this.lexer.at += 1;
      } else if (next === '~' || next === '*') {
        literal = false;
        this.lexer.operator();
      } else if (PREFIXING.has(name)) {
        literal = false;
        this.lexer.at += name.length;
      } else break;
    }
    const operand = this.primary();
    if (!literal) return OTHER;
    return sign === null ? operand : { kind: 'signed', sign, operand };
  }

  /** An atom with its attributes, calls and subscripts. */
  private primary(): Node {
    const name = this.lexer.peekName();
    let node = this.atom();
    if (name === 'set' && node.kind === 'other' && this.lexer.accept('(')) {
      if (this.lexer.accept(')')) node = { kind: 'set', items: [] };
      else node = { kind: 'other', name, args: this.closeBracket(')') };
    }
    for (;;) {
      const next = this.lexer.peek();
      if (next === '.') {
        this.lexer.at += 1;
        const attribute = this.lexer.peekName();
        if (attribute === '') throw this.lexer.error('expected a name');
        this.lexer.at += attribute.length;
        node = isPlainName(node) ? { kind: 'other', name: `${node.name}.${attribute}` } : OTHER;
      } else if (next === '(' || next === '[') {
        this.lexer.at += 1;
        const args = this.closeBracket(next === '(' ? ')' : ']');
        node = next === '(' && isPlainName(node) ? { ...node, args } : OTHER;
      } else return node;
    }
  }

  private atom(): Node {
    const next = this.lexer.peek();
    if (next === '{') return this.braces();
    if (next === '[') return { kind: 'list', items: this.items('[', ']').items };
    if (next === '(') return this.parentheses();
    if (this.lexer.stringPrefix() !== null) return this.strings();
    if (/^[0-9]$/.test(next) || /^\.[0-9]/.test(this.lexer.text.slice(this.lexer.at, this.lexer.at + 2))) {
      return { kind: 'constant', value: this.lexer.number() };
    }
    if (this.lexer.accept('...')) return { kind: 'constant', value: { kind: 'ellipsis' } };
    const name = this.lexer.peekName();
    if (name === '') throw this.lexer.error('expected an expression');
    this.lexer.at += name.length;
    const constant = CONSTANTS[name];
    return constant === undefined ? { kind: 'other', name } : { kind: 'constant', value: constant };
  }

  /** `open … close` with commas; `comma` tells a tuple of one from a bracketed expression. */
  private items(open: string, close: string): { items: Node[]; comma: boolean } {
    this.lexer.expect(open);
    this.enter();
    const items: Node[] = [];
    let comma = false;
    while (!this.lexer.accept(close)) {
      items.push(this.expression());
      if (this.lexer.accept(',')) comma = true;
      else if (this.lexer.peek() !== close) throw this.lexer.error(`expected , or ${close}`);
    }
    this.depth -= 1;
    return { items, comma };
  }

  private parentheses(): Node {
    const { items, comma } = this.items('(', ')');
    const [only] = items;
    return items.length === 1 && !comma && only !== undefined ? only : { kind: 'tuple', items };
  }

  private braces(): Node {
    this.lexer.expect('{');
    this.enter();
    const keys: Node[] = [];
    const values: Node[] = [];
    let dict: boolean | null = null;
    while (!this.lexer.accept('}')) {
      const unpacked = this.lexer.startsWith('**');
      const key = this.expression();
      const isMember = unpacked || this.lexer.peek() === ':';
      if (dict !== null && dict !== isMember) throw this.lexer.error('dict and set mixed');
      dict = isMember;
      keys.push(unpacked ? OTHER : key);
      if (!unpacked && this.lexer.accept(':')) values.push(this.expression());
      else if (unpacked) values.push(OTHER);
      if (!this.lexer.accept(',') && this.lexer.peek() !== '}') throw this.lexer.error('expected , or }');
    }
    this.depth -= 1;
    return dict === false ? { kind: 'set', items: keys } : { kind: 'dict', keys, values };
  }

  /** Arguments of a call or subscript; `name=value` is one that is no literal. */
  private closeBracket(close: string): Node[] {
    this.enter();
    const args: Node[] = [];
    while (!this.lexer.accept(close)) {
      if (this.lexer.accept(',') || this.lexer.accept(':')) continue;
      args.push(this.expression());
    }
    this.depth -= 1;
    return args;
  }

  /** Strings next to each other are one; a formatted string is no literal. */
  private strings(): Node {
    const texts: string[] = [];
    const bytes: number[][] = [];
    let formatted = false;
    for (let prefix = this.lexer.stringPrefix(); prefix !== null; prefix = this.lexer.stringPrefix()) {
      this.lexer.at += prefix.length;
      const body = this.lexer.stringBody();
      const raw = prefix.includes('r');
      if (prefix.includes('b')) bytes.push(unescapeBytes(body, raw));
      else texts.push(raw ? body : unescapeString(body));
      formatted ||= prefix.includes('f');
    }
    if (bytes.length > 0 && texts.length > 0) throw this.lexer.error('bytes and text mixed');
    if (formatted) return OTHER;
    return { kind: 'constant', value: bytes.length > 0 ? { kind: 'bytes', bytes: bytes.flat() } : texts.join('') };
  }

  private enter(): void {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw this.lexer.error('too many nested brackets');
  }
}
