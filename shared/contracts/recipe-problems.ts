import type { z } from 'zod';
import { nearestName } from './nearest-name.js';
import { expectation, recipeJsonSchema, schemaAt, type SchemaNode } from './recipe-json-schema.js';

type Issue = z.core.$ZodIssue;

/** Longest quotation of a wrong value. */
const LONGEST_QUOTE = 60;

/** JSON path as people write it: `data.files.eval.50`, `grpo.clip[1]`; the whole recipe is `recipe`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (/^[\w$-]+$/.test(String(key))) text += text === '' ? String(key) : `.${String(key)}`;
    else text += `[${JSON.stringify(quote(String(key)))}]`;
  }
  return text === '' ? 'recipe' : text;
}

/** A found value in a few characters. */
export function found(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}: ${quote(JSON.stringify(value))}`;
  if (typeof value === 'string') return `the text ${quote(JSON.stringify(value))}`;
  return quote(JSON.stringify(value) ?? String(value));
}

function quote(text: string): string {
  return text.length <= LONGEST_QUOTE ? text : `${text.slice(0, LONGEST_QUOTE - 1)}…`;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** One sentence for every wrong field that the schema found: where, what was expected, what was found. */
export function schemaProblems(value: unknown, issues: readonly Issue[]): string[] {
  const schema = recipeJsonSchema();
  return issues.flatMap((issue) => issueProblems(value, issue, schema));
}

function issueProblems(value: unknown, issue: Issue, schema: SchemaNode): string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(issue.path, key, schema));
  if (issue.code === 'invalid_key') {
    const parent = schemaAt(schema, issue.path.slice(0, -1));
    return [`${pathText(issue.path)}: wrong name: expected ${expectation(parent?.propertyNames)}`];
  }
  const node = schemaAt(schema, issue.path);
  const here = valueAt(value, issue.path);
  if (here === undefined) return [`${pathText(issue.path)}: missing: expected ${expectation(node)}${meaning(node)}`];
  return [`${pathText(issue.path)}: expected ${expectation(node)}, found ${found(here)}${meaning(node)}`];
}

function meaning(node: SchemaNode | undefined): string {
  return node?.description === undefined ? '' : ` (${node.description.replace(/\.$/, '')})`;
}

function unknownKey(path: readonly PropertyKey[], key: string, schema: SchemaNode): string {
  const known = Object.keys(schemaAt(schema, path)?.properties ?? {});
  const here = pathText([...path, key]);
  const near = nearestName(key, known);
  if (near !== undefined) return `${here}: unknown key; did you mean “${near}”?`;
  const elsewhere = placesOf(key, schema).find((place) => place !== here);
  if (elsewhere !== undefined) return `${here}: unknown key here; did you mean “${elsewhere}”?`;
  return `${here}: unknown key; known here: ${known.filter((name) => name !== '$schema').join(', ')}`;
}

/** Paths of every known key with (nearly) this name anywhere in the schema. */
function placesOf(key: string, node: SchemaNode, path: string[] = []): string[] {
  const properties = node.properties ?? {};
  const near = nearestName(key, Object.keys(properties));
  const here = near === undefined ? [] : [pathText([...path, near])];
  return [...here, ...Object.entries(properties).flatMap(([name, child]) => placesOf(key, child, [...path, name]))];
}
