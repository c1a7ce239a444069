/** Castagnoli polynomial, reflected. */
const POLYNOMIAL = 0x82f63b78;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1) remainder = remainder & 1 ? (remainder >>> 1) ^ POLYNOMIAL : remainder >>> 1;
  return remainder;
});

/** CRC-32C (RFC 3720, appendix B.4) of bytes, as an unsigned number. */
export function crc32c(bytes: Uint8Array): number {
  let remainder = 0xffff_ffff;
  for (const byte of bytes) remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ byte) & 0xff] as number);
  return (remainder ^ 0xffff_ffff) >>> 0;
}
