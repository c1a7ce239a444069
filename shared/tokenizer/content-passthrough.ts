/**
 * Decides from a chat template's syntax tree whether the text around a message's content is the same for every content.
 *
 * It is, when the conversation is touched in one way only: a loop `for message in messages`, in which `message.role` is
 * used anywhere and `message.content` is nothing but a part of what is put out, joined with `+` or `~`. Then nothing the
 * template decides can depend on the content. Templates that look into it (Qwen3's own looks for tool responses) are not
 * of this kind and have to be rendered each time.
 *
 * @param program the template's parsed form
 */
export function passesContentThrough(program: unknown): boolean {
  return isNode(program) && program.type === 'Program' && statements(program['body'], undefined);
}

interface Node {
  type: string;
  [part: string]: unknown;
}

const HARMLESS_LOOP_FACTS = new Set(['first', 'last', 'index', 'index0', 'length']);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

/** @param message name of the loop's variable inside a loop over the messages */
function statements(body: unknown, message: string | undefined): boolean {
  return Array.isArray(body) && body.every((statement) => isNode(statement) && isSafeStatement(statement, message));
}

function isSafeStatement(node: Node, message: string | undefined): boolean {
  switch (node.type) {
    case 'If':
      return (
        isSilent(node['test'], message) && statements(node['body'], message) && statements(node['alternate'], message)
      );
    case 'For':
      return isSafeLoop(node, message);
    default:
      return isSafeOutput(node, message);
  }
}

function isSafeLoop(node: Node, message: string | undefined): boolean {
  const { loopvar, iterable, body, defaultBlock } = node;
  const isOverMessages = isName(iterable, 'messages');
  if (isOverMessages && (message !== undefined || !isNode(loopvar) || loopvar.type !== 'Identifier')) return false;
  if (!isOverMessages && !(isSilent(iterable, message) && isSilent(loopvar, message))) return false;
  const inside = isOverMessages ? String((loopvar as Node)['value']) : message;
  return statements(body, inside) && statements(defaultBlock, message);
}

/** What is put out: the content, something without it, or both joined. */
function isSafeOutput(node: unknown, message: string | undefined): boolean {
  if (!isNode(node)) return false;
  if (isMember(node, message, ['content'])) return true;
  const operator = (node['operator'] as { value?: unknown } | undefined)?.value;
  if (node.type === 'BinaryExpression' && (operator === '+' || operator === '~'))
    return isSafeOutput(node['left'], message) && isSafeOutput(node['right'], message);
  return isSilent(node, message);
}

/** Neither the conversation nor a content occurs anywhere in it; roles and the loop's counters may. */
function isSilent(value: unknown, message: string | undefined): boolean {
  if (Array.isArray(value)) return value.every((item) => isSilent(item, message));
  if (value instanceof Map) return isSilent([...value].flat(), message);
  if (typeof value !== 'object' || value === null) return true;
  if (isNode(value)) {
    if (isMember(value, message, ['role']) || isMember(value, 'loop', HARMLESS_LOOP_FACTS)) return true;
    if (isName(value, 'messages') || isName(value, 'loop') || (message !== undefined && isName(value, message)))
      return false;
  }
  return isSilent(Object.values(value), message);
}

function isName(value: unknown, name: string): boolean {
  return isNode(value) && value.type === 'Identifier' && value['value'] === name;
}

/** `object.name` or `object['name']` with one of the names. */
function isMember(node: Node, object: string | undefined, names: Iterable<string>): boolean {
  if (node.type !== 'MemberExpression' || object === undefined || !isName(node['object'], object)) return false;
  const { property, computed } = node;
  const wanted = computed === true ? 'StringLiteral' : 'Identifier';
  return isNode(property) && property.type === wanted && [...names].includes(String(property['value']));
}
