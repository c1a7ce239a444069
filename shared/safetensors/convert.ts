import type { FloatType } from './types.js';

/** Little-endian bytes of a stored tensor to float32; exact for all three formats. */
export function toFloat32(bytes: Uint8Array, type: FloatType): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type) {
    case 'F32':
      return Float32Array.from({ length: bytes.byteLength / 4 }, (_, i) => view.getFloat32(4 * i, true));
    case 'BF16': {
      const words = Uint32Array.from({ length: bytes.byteLength / 2 }, (_, i) => view.getUint16(2 * i, true) << 16);
      return new Float32Array(words.buffer);
    }
    case 'F16':
      return Float32Array.from({ length: bytes.byteLength / 2 }, (_, i) => halfToNumber(view.getUint16(2 * i, true)));
  }
}

/** IEEE 754 binary16: sign, 5 bits of exponent, 10 bits of fraction. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** float32 to bfloat16, nearest even. NaN stays NaN. */
export function toBfloat16(data: Float32Array): Uint16Array {
  const words = new Uint32Array(data.buffer, data.byteOffset, data.length);
  return Uint16Array.from(words, (word) => {
    if ((word & 0x7fffffff) > 0x7f800000) return (word >>> 16) | 0x40;
    return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  });
}
