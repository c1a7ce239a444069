import protobuf from 'protobufjs/minimal.js';
import { crc32c } from './crc32c.js';

/** Values of one step by tag, e.g. `train/kl`. */
export interface ScalarStep {
  step: number;
  values: Readonly<Record<string, number>>;
}

/**
 * A TensorBoard event file of scalars: TFRecord frames of `Event` messages (tensorflow/core/util/event.proto and
 * lib/io/record_writer.h). The wall time of a step is the step's number, so that equal series give equal bytes; TensorBoard's
 * axis *Step* is the one to look at. Values that are not finite are kept: TensorBoard marks them.
 */
export function tensorboardEvents(series: readonly ScalarStep[]): Uint8Array {
  const frames = [record(event(0, (writer) => writer.uint32(fieldTag(3, BYTES)).string('brain.Event:2')))];
  for (const { step, values } of series) {
    const summary = protobuf.Writer.create();
    for (const [name, value] of Object.entries(values)) {
      summary.uint32(fieldTag(1, BYTES)).fork();
      summary.uint32(fieldTag(1, BYTES)).string(name).uint32(fieldTag(2, FIXED32)).float(value).ldelim();
    }
    frames.push(record(event(step, (writer) => writer.uint32(fieldTag(5, BYTES)).bytes(summary.finish()))));
  }
  return Buffer.concat(frames);
}

/** Wire types of protocol buffers. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

function fieldTag(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

function event(step: number, content: (writer: protobuf.Writer) => protobuf.Writer): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(fieldTag(1, FIXED64)).double(step).uint32(fieldTag(2, VARINT)).int64(step);
  return content(writer).finish();
}

/** Length, its checksum, the data, its checksum; all little-endian. */
function record(data: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(data.byteLength + 16);
  frame.writeBigUInt64LE(BigInt(data.byteLength));
  frame.writeUInt32LE(masked(crc32c(frame.subarray(0, 8))), 8);
  frame.set(data, 12);
  frame.writeUInt32LE(masked(crc32c(data)), 12 + data.byteLength);
  return frame;
}

/** Checksums are stored rotated and shifted, so that a checksum of data with checksums is not weak. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0;
}
