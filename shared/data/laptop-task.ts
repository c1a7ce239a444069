/**
 * The vocabulary of the laptop task: a context is a list of facts `amber=47;\n`, a question names one key (`amber=`), the answer is the
 * key's two-digit value. The key carries its sign so that it is one and the same token in question, memory and chunk.
 *
 * The order of both lists is part of the data format: the tokenizer's ids and the generator's draws follow it.
 */

const WORDS = [
  'amber anchor apple arrow basket beacon birch bottle bridge butter cactus candle canyon carpet castle cedar',
  'cherry cobalt comet copper coral cotton crystal dagger daisy desert dragon ember falcon feather fern flint',
  'forest garnet ginger glacier hammer harbor hazel helmet island ivory jasmine jungle kettle ladder lantern lemon',
  'maple marble meadow mirror needle nutmeg olive orchid pepper pillow quartz raven saddle silver tulip walnut',
];

/** Sign between key and value; part of the key's token. */
export const LAPTOP_SIGN = '=';

/** End of one fact. */
export const LAPTOP_SEPARATOR = ';\n';

/** The 64 keys without their sign, e.g. `amber`; distinct, lower-case, none the end of another. */
export const LAPTOP_KEYS: readonly string[] = WORDS.flatMap((line) => line.split(' '));

/** The 100 values `00` … `99`. */
export const LAPTOP_VALUES: readonly string[] = Array.from({ length: 100 }, (_, index) =>
  String(index).padStart(2, '0')
);

/** A key as it stands in the text, e.g. `amber=`: also the whole question. */
export function laptopQuestion(key: string): string {
  return `${key}${LAPTOP_SIGN}`;
}

/** One fact as it stands in a context, e.g. `amber=47;\n`. */
export function laptopFact(key: string, value: string): string {
  return `${key}${LAPTOP_SIGN}${value}${LAPTOP_SEPARATOR}`;
}
