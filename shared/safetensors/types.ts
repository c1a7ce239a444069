/** A tensor of a safetensors file, converted to float32. */
export interface Tensor {
  name: string;
  shape: readonly number[];
  data: Float32Array;
}

/** Stored number formats that are understood; all become float32 when read. */
export const FLOAT_BYTES = { F32: 4, F16: 2, BF16: 2 } as const;
export type FloatType = keyof typeof FLOAT_BYTES;

export function isFloatType(value: unknown): value is FloatType {
  return typeof value === 'string' && Object.hasOwn(FLOAT_BYTES, value);
}

/** Header entry of one tensor. */
export interface TensorEntry {
  dtype: string;
  shape: number[];
  /** Range within the data part, bytes. */
  data_offsets: [number, number];
}
