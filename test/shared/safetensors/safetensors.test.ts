import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toBfloat16, toFloat32 } from '../../../shared/safetensors/convert.js';
import { decodeSafetensors, readSafetensors, readSafetensorsFolder } from '../../../shared/safetensors/read.js';
import { encodeSafetensors } from '../../../shared/safetensors/write.js';

const a = { name: 'a', shape: [2, 3], data: Float32Array.of(1, -2.5, 3e-8, 0, -0, 65504) };
const b = { name: 'b.weight', shape: [], data: Float32Array.of(7) };

/** A file with the given header and data, as another program might have written it. */
function file(header: unknown, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  bytes.set(data, 8 + json.length);
  return bytes;
}

describe('safetensors', () => {
  it('come back as written; the bytes depend on the content alone', () => {
    const bytes = encodeSafetensors([b, a]);
    expect(decodeSafetensors(bytes, 'x')).toEqual([a, b]);
    expect(encodeSafetensors([a, b])).toEqual(bytes);
    const header = new DataView(bytes.buffer).getBigUint64(0, true);
    expect(Number(header) % 8).toBe(0);
    expect(new TextDecoder().decode(bytes.subarray(8, 46))).toContain('"__metadata__":{"format":"pt"}');
  });

  it('are stored as bfloat16 by rounding to nearest even', () => {
    const values = Float32Array.of(1, 1.00390625, 1.01171875, -3.3895314e38, NaN, Infinity);
    const [read] = decodeSafetensors(
      encodeSafetensors([{ name: 'x', shape: [6], data: values }], { dtype: 'BF16' }),
      'x'
    );
    expect([...read!.data]).toEqual([1, 1, 1.015625, -3.3895313892515355e38, NaN, Infinity]);
    expect(toBfloat16(Float32Array.of(1.0))[0]).toBe(0x3f80);
  });

  it('are read from half precision: normal, subnormal, infinite', () => {
    const words = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00, 0x7e00, 0x03ff);
    expect([...toFloat32(new Uint8Array(words.buffer), 'F16')]).toEqual([
      1,
      -2,
      2 ** -24,
      Infinity,
      NaN,
      1023 * 2 ** -24,
    ]);
  });

  it.each([
    ['too short a file', new Uint8Array(4), /too few/],
    ['a header longer than the file', file('{}', new Uint8Array(0)).fill(255, 0, 3), /does not fit/],
    ['a header that is no JSON', file('nonsense', new Uint8Array(0)), /not JSON/],
    ['an unknown type', file({ x: { dtype: 'I64', shape: [1], data_offsets: [0, 8] } }, new Uint8Array(8)), /type I64/],
    ['a gap', file({ x: { dtype: 'F32', shape: [1], data_offsets: [4, 8] } }, new Uint8Array(8)), /lies at 4/],
    [
      'a shape of another size',
      file({ x: { dtype: 'F32', shape: [3], data_offsets: [0, 8] } }, new Uint8Array(8)),
      /expected 0 to 12/,
    ],
    ['missing data', file({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } }, new Uint8Array(5)), /torn/],
    ['data that belongs to no tensor', file({}, new Uint8Array(5)), /torn/],
  ])('are refused with %s', (_, bytes, message) => {
    expect(() => decodeSafetensors(bytes, 'model.safetensors')).toThrow(message);
  });

  it('refuse to write a shape that does not hold the data, or a name twice', () => {
    expect(() => encodeSafetensors([{ ...a, shape: [5] }])).toThrow(/does not hold 6/);
    expect(() => encodeSafetensors([a, a])).toThrow(/twice/);
  });
});

describe('a checkpoint folder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'safetensors-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const index = (map: Record<string, string>): Promise<void> =>
    writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }));

  it('may be sharded', async () => {
    await writeFile(join(folder, '1.safetensors'), encodeSafetensors([a]));
    await writeFile(join(folder, '2.safetensors'), encodeSafetensors([b]));
    await index({ a: '1.safetensors', 'b.weight': '2.safetensors' });
    expect(await readSafetensorsFolder(folder)).toEqual([a, b]);
  });

  it('names what is missing', async () => {
    await expect(readSafetensorsFolder(folder)).rejects.toThrow(/model.safetensors: the file is missing/);
    await expect(readSafetensors(join(folder, 'x'))).rejects.toMatchObject({ type: 'CheckpointInvalid' });
    await writeFile(join(folder, '1.safetensors'), encodeSafetensors([a]));
    await index({ a: '1.safetensors', b: '1.safetensors' });
    await expect(readSafetensorsFolder(folder)).rejects.toThrow(/in no shard: b/);
    await index({ a: '3.safetensors' });
    await expect(readSafetensorsFolder(folder)).rejects.toThrow(
      /3.safetensors: the shard named in the index is missing/
    );
  });

  it('lets no shard lead out of the folder', async () => {
    await index({ a: '../../secret' });
    await expect(readSafetensorsFolder(folder)).rejects.toThrow(/not a plain file name/);
  });
});
