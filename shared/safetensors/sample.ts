import { open, type FileHandle } from 'node:fs/promises';
import { toFloat32 } from './convert.js';
import type { TensorPlace } from './headers.js';
import { FLOAT_BYTES } from './types.js';

/** A tensor up to this size is read whole. Unit: bytes. */
const WHOLE_BYTES = 1024 * 1024;
/** Of a larger one, this many windows of this size, first and last included. */
const WINDOWS = 4;
const WINDOW_BYTES = 64 * 1024;

/** Reads values of tensors, each file opened once. */
export class TensorSampler {
  private readonly handles = new Map<string, FileHandle>();

  /**
   * All values of a small tensor, evenly spread windows of a large one: the same places in tensors of equal shape.
   *
   * @throws the system's error when the file cannot be read
   */
  async sample(tensor: TensorPlace): Promise<Float32Array> {
    const handle = this.handles.get(tensor.path) ?? (await open(tensor.path, 'r'));
    this.handles.set(tensor.path, handle);
    const windows = windowsOf(tensor);
    const buffer = Buffer.alloc(windows.reduce((sum, { bytes }) => sum + bytes, 0));
    let at = 0;
    for (const { offset, bytes } of windows) {
      await handle.read(buffer, at, bytes, tensor.offset + offset);
      at += bytes;
    }
    return toFloat32(buffer, tensor.dtype);
  }

  async close(): Promise<void> {
    for (const handle of this.handles.values()) await handle.close();
    this.handles.clear();
  }
}

function windowsOf({ bytes, dtype }: TensorPlace): { offset: number; bytes: number }[] {
  if (bytes <= WHOLE_BYTES) return [{ offset: 0, bytes }];
  const size = FLOAT_BYTES[dtype];
  // In elements, so that no window begins within a number, whatever the types of the two models.
  const length = WINDOW_BYTES / size;
  const last = bytes / size - length;
  return Array.from({ length: WINDOWS }, (_, i) => ({
    offset: Math.floor((last * i) / (WINDOWS - 1)) * size,
    bytes: WINDOW_BYTES,
  }));
}
