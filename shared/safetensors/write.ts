import { toBfloat16 } from './convert.js';
import type { Tensor, TensorEntry } from './types.js';

export interface WriteOptions {
  /** Number format of all tensors. Default F32. */
  dtype?: 'F32' | 'BF16';
  /** `__metadata__` of the header. Default { format: 'pt' }, which transformers asks for. */
  metadata?: Readonly<Record<string, string>>;
}

/**
 * Encodes tensors as a safetensors file. The bytes depend on names, shapes and values alone: tensors are sorted by name, the
 * header is padded with spaces to a multiple of 8.
 *
 * @throws RangeError when a shape does not match its data or a name occurs twice
 */
export function encodeSafetensors(tensors: readonly Tensor[], options: WriteOptions = {}): Uint8Array {
  const { dtype = 'F32', metadata = { format: 'pt' } } = options;
  const sorted = [...tensors].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const header: Record<string, TensorEntry | Readonly<Record<string, string>>> = { __metadata__: metadata };
  const size = dtype === 'F32' ? 4 : 2;
  let offset = 0;
  for (const { name, shape, data } of sorted) {
    const count = shape.reduce((a, b) => a * b, 1);
    if (count !== data.length)
      throw new RangeError(`${name}: shape [${shape.join(', ')}] does not hold ${data.length} values`);
    if (Object.hasOwn(header, name)) throw new RangeError(`${name} occurs twice`);
    header[name] = { dtype, shape: [...shape], data_offsets: [offset, offset + count * size] };
    offset += count * size;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerLength = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(8 + headerLength + offset).fill(0x20, 8, 8 + headerLength);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(headerLength), true);
  bytes.set(json, 8);
  let at = 8 + headerLength;
  for (const { data } of sorted) at = writeNumbers(view, at, data, dtype);
  return bytes;
}

function writeNumbers(view: DataView, at: number, data: Float32Array, dtype: 'F32' | 'BF16'): number {
  if (dtype === 'F32') {
    for (let i = 0; i < data.length; i += 1) view.setFloat32(at + 4 * i, data[i]!, true);
    return at + 4 * data.length;
  }
  toBfloat16(data).forEach((word, i) => view.setUint16(at + 2 * i, word, true));
  return at + 2 * data.length;
}
