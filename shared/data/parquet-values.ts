import type { SchemaTree } from 'hyparquet';
import type { PyDict, PyValue } from './python/value.js';

/** Turns hyparquet's rows into what `pandas.read_parquet(…).to_dict(orient="records")` gives: ints and floats told apart. */
export function pythonRows(rows: readonly Record<string, unknown>[], tree: SchemaTree): PyDict[] {
  return rows.map((row) => structOf(row, tree.children));
}

function structOf(members: Record<string, unknown>, fields: readonly SchemaTree[]): PyDict {
  return new Map(fields.map((field) => [field.element.name, valueOf(members[field.element.name], field)]));
}

function valueOf(value: unknown, field: SchemaTree): PyValue {
  if (value === null || value === undefined) return null;
  if (isNumbered(field)) return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : plain(value);
  if (field.element.type === 'FLOAT' || field.element.type === 'DOUBLE')
    return typeof value === 'number' ? value : plain(value);
  const element = listElement(field);
  if (element !== undefined && Array.isArray(value)) return value.map((item) => valueOf(item, element));
  if (isStruct(field) && typeof value === 'object' && !Array.isArray(value)) {
    return structOf(value as Record<string, unknown>, field.children);
  }
  return plain(value);
}

/** An integer column; dates, times and decimals share the physical types. */
function isNumbered({ element, children }: SchemaTree): boolean {
  if (children.length > 0 || (element.type !== 'INT32' && element.type !== 'INT64')) return false;
  const type = element.logical_type?.type ?? element.converted_type;
  return type === undefined || type === 'INTEGER' || /^U?INT_/.test(type);
}

function listElement(field: SchemaTree): SchemaTree | undefined {
  if (field.element.converted_type !== 'LIST' && field.element.logical_type?.type !== 'LIST') return undefined;
  const repeated = field.children[0];
  // Three levels (list.element) since the format's version 2; two levels in older files.
  return repeated?.children.length === 1 ? repeated.children[0] : repeated;
}

function isStruct({ element, children }: SchemaTree): boolean {
  const type = element.logical_type?.type ?? element.converted_type;
  return children.length > 0 && type === undefined;
}

/** A value whose column says nothing more: JSON columns, maps, dates, bytes. */
function plain(value: unknown): PyValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value === 'bigint' || typeof value === 'boolean' || typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(plain);
  return new Map(Object.entries(value as Record<string, unknown>).map(([key, member]) => [key, plain(member)]));
}
