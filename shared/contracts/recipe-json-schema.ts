import { z } from 'zod';
import { recipeSchema } from './recipe-schema.js';

/** The parts of JSON Schema that the recipe's schema uses. */
export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  minItems?: number;
  properties?: Record<string, SchemaNode>;
  propertyNames?: SchemaNode;
  additionalProperties?: SchemaNode | boolean;
  items?: SchemaNode | false;
  prefixItems?: SchemaNode[];
  anyOf?: SchemaNode[];
  required?: string[];
}

/** JSON Schema of a recipe as a person writes it (defaults may be left out), for editors. */
export function recipeJsonSchema(): SchemaNode {
  const generated = z.toJSONSchema(recipeSchema, { io: 'input' }) as Record<string, unknown>;
  return {
    ...generated,
    title: 'memagent-pipeline recipe',
    description: 'Everything a MemAgent run depends on. Generated from shared/contracts/recipe-schema.ts.',
  } as SchemaNode;
}

/** The file's text, as committed. */
export function recipeJsonSchemaText(): string {
  return `${JSON.stringify(recipeJsonSchema(), null, 2)}\n`;
}

/** The node that describes the value at a path, or undefined when the schema knows no such place. */
export function schemaAt(root: SchemaNode, path: readonly PropertyKey[]): SchemaNode | undefined {
  let node: SchemaNode | undefined = root;
  for (const key of path) node = node === undefined ? undefined : childOf(node, key);
  return node;
}

function childOf(node: SchemaNode, key: PropertyKey): SchemaNode | undefined {
  if (typeof key === 'number') return node.prefixItems?.[key] ?? (node.items === false ? undefined : node.items);
  if (node.properties !== undefined && Object.hasOwn(node.properties, key)) return node.properties[String(key)];
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
}

/** What a value must be, in words. */
export function expectation(node: SchemaNode | undefined): string {
  if (node === undefined) return 'something else';
  if (node.enum !== undefined) return `one of ${node.enum.map((value) => JSON.stringify(value)).join(', ')}`;
  if (node.anyOf !== undefined) return node.anyOf.map(expectation).join(' or ');
  const type: string = node.type ?? 'object';
  switch (type) {
    case 'integer':
      return `a whole number${range(node)}`;
    case 'number':
      return `a number${range(node)}`;
    case 'string':
      return stringExpectation(node);
    case 'boolean':
      return 'true or false';
    case 'null':
      return 'null';
    case 'array':
      return arrayExpectation(node);
    default:
      return 'an object { … }';
  }
}

function range(node: SchemaNode): string {
  const bounds = [
    node.minimum === undefined || node.minimum === Number.MIN_SAFE_INTEGER ? '' : `≥ ${node.minimum}`,
    node.exclusiveMinimum === undefined ? '' : `> ${node.exclusiveMinimum}`,
    node.maximum === undefined || node.maximum === Number.MAX_SAFE_INTEGER ? '' : `≤ ${node.maximum}`,
    node.exclusiveMaximum === undefined ? '' : `< ${node.exclusiveMaximum}`,
  ].filter((bound) => bound !== '');
  return bounds.length === 0 ? '' : ` ${bounds.join(' and ')}`;
}

function stringExpectation(node: SchemaNode): string {
  if (node.pattern === '^[0-9a-f]{40}$') return 'a full commit: 40 lower-case hexadecimal digits';
  if (node.pattern === '^[0-9a-f]{64}$') return 'a SHA-256: 64 lower-case hexadecimal digits';
  if (node.pattern !== undefined) return `text that matches ${node.pattern}`;
  return node.minLength === 1 ? 'text that is not empty' : 'text';
}

function arrayExpectation(node: SchemaNode): string {
  if (node.prefixItems !== undefined) {
    return `a list of ${node.prefixItems.length}: [${node.prefixItems.map(expectation).join(', ')}]`;
  }
  const least = node.minItems === undefined ? '' : ` of at least ${node.minItems}`;
  const items = node.items === false || node.items === undefined ? '' : `, each ${expectation(node.items)}`;
  return `a list${least}${items}`;
}
