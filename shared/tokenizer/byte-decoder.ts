import { tokenBytes } from './byte-alphabet.js';

/**
 * Decodes ids of a byte-level vocabulary: the bytes of all tokens one after another, read as UTF-8, with U+FFFD for
 * every maximal invalid sequence. A character cut in two by a chunk's edge becomes U+FFFD on both sides.
 */
export class ByteDecoder {
  readonly #bytes: (Uint8Array | undefined)[] = [];
  // `ignoreBOM` keeps a byte order mark in the text.
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

  /** @param tokens text of each id in the byte alphabet */
  constructor(private readonly tokens: readonly string[]) {}

  /** @param ids ids of the vocabulary; `isSkipped` leaves some out */
  decode(ids: readonly number[], isSkipped: (id: number) => boolean): string {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (const id of ids) {
      if (isSkipped(id)) continue;
      const bytes = (this.#bytes[id] ??= tokenBytes(this.tokens[id] as string));
      parts.push(bytes);
      length += bytes.length;
    }
    const all = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return this.#utf8.decode(all);
  }
}
