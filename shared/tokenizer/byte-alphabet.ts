/**
 * The byte alphabet of GPT-2's byte-level BPE: every byte has one printable character, so that a vocabulary of arbitrary
 * bytes can be written as JSON strings. Printable Latin-1 stands for itself; the other bytes take U+0100, U+0101, ….
 */
export const BYTE_TO_CHARACTER: readonly string[] = buildAlphabet();

const CHARACTER_TO_BYTE: ReadonlyMap<string, number> = new Map(
  BYTE_TO_CHARACTER.map((character, byte) => [character, byte])
);

const utf8 = new TextEncoder();

function buildAlphabet(): string[] {
  const isPrintable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

/** The text's UTF-8 bytes, one alphabet character a byte. Lone surrogates become U+FFFD. */
export function toByteCharacters(text: string): string {
  let out = '';
  for (const byte of utf8.encode(text)) out += BYTE_TO_CHARACTER[byte];
  return out;
}

/**
 * Bytes a token of a byte-level vocabulary stands for.
 *
 * A token with a character outside the alphabet (an added token with a space, say) is plain text and stands for its UTF-8
 * bytes: the rule of the Rust library's decoder, which applies it to added tokens as well.
 */
export function tokenBytes(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let at = 0; at < token.length; at += 1) {
    const byte = CHARACTER_TO_BYTE.get(token.charAt(at));
    if (byte === undefined) return utf8.encode(token);
    bytes[at] = byte;
  }
  return bytes;
}
