import protobuf from 'protobufjs/minimal.js';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../../shared/artifacts/crc32c.js';
import { tensorboardEvents } from '../../../shared/artifacts/tensorboard.js';

/** Data of each frame. @throws when a checksum is wrong */
function frames(file: Uint8Array): Uint8Array[] {
  const buffer = Buffer.from(file);
  const found: Uint8Array[] = [];
  for (let at = 0; at < buffer.length;) {
    const length = Number(buffer.readBigUInt64LE(at));
    const data = buffer.subarray(at + 12, at + 12 + length);
    expect(unmasked(buffer.readUInt32LE(at + 8))).toBe(crc32c(buffer.subarray(at, at + 8)));
    expect(unmasked(buffer.readUInt32LE(at + 12 + length))).toBe(crc32c(data));
    found.push(data);
    at += 16 + length;
  }
  return found;
}

function unmasked(value: number): number {
  const rotated = (value - 0xa282_ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

/** Step and scalars of an event, read field by field. */
function scalars(data: Uint8Array): { step: number; values: Record<string, number> } {
  const reader = protobuf.Reader.create(data);
  const found = { step: 0, values: {} as Record<string, number> };
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 2) found.step = Number(reader.int64());
    else if (tag >>> 3 === 5) {
      const summary = protobuf.Reader.create(reader.bytes());
      while (summary.pos < summary.len) {
        summary.uint32();
        const value = protobuf.Reader.create(summary.bytes());
        value.uint32();
        const name = value.string();
        value.uint32();
        found.values[name] = value.float();
      }
    } else reader.skipType(tag & 7);
  }
  return found;
}

describe('CRC-32C', () => {
  it('gives the published check values', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe306_9283);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a91_36aa);
    expect(crc32c(new Uint8Array(0))).toBe(0);
  });
});

describe('a TensorBoard event file', () => {
  it('holds the version and each step’s scalars in checked frames', () => {
    const file = tensorboardEvents([
      { step: 0, values: { 'train/reward': 0.5, 'train/kl': 0 } },
      { step: 1, values: { 'train/reward': 0.75, 'train/kl': 0.125 } },
    ]);
    const [version, ...steps] = frames(file);
    expect(Buffer.from(version ?? []).toString('latin1')).toContain('brain.Event:2');
    expect(steps.map(scalars)).toEqual([
      { step: 0, values: { 'train/reward': 0.5, 'train/kl': 0 } },
      { step: 1, values: { 'train/reward': 0.75, 'train/kl': 0.125 } },
    ]);
  });

  it('has the same bytes for the same series', () => {
    const series = [{ step: 3, values: { a: 1 } }];
    expect(tensorboardEvents(series)).toEqual(tensorboardEvents(series));
  });
});
