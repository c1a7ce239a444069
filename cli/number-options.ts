import { InvalidArgumentError } from 'commander';

/** A whole number of at least 1, for options of commands. */
export function positiveInteger(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('expected a whole number ≥ 1');
  return number;
}

/** A seed: a whole number of 32 bits. */
export function seedNumber(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isInteger(number) || number < 0 || number > 0xffff_ffff)
    throw new InvalidArgumentError('expected a whole number from 0 to 4294967295');
  return number;
}

/** A seed, or `none`. (The parser must not give null: commander would make a text of it.) */
export function optionalSeed(value: string): number | 'none' {
  return value === 'none' ? value : seedNumber(value);
}

/** Makes a parser for numbers of a range. */
export function numberBetween(low: number, high: number, openLow = false): (value: string) => number {
  return (value) => {
    const number = Number(value);
    const fits = value.trim() !== '' && (openLow ? number > low : number >= low) && number <= high;
    if (!fits)
      throw new InvalidArgumentError(
        `expected a number ${openLow ? 'above' : 'from'} ${low} ${openLow ? 'and at most' : 'to'} ${high}`
      );
    return number;
  };
}

/** `50,200,800`: whole numbers of at least 1, each once. */
export function integerList(value: string): number[] {
  const numbers = value.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)));
  if (numbers.some((number) => !Number.isSafeInteger(number) || number < 1))
    throw new InvalidArgumentError('expected whole numbers ≥ 1 with commas between them, e.g. 50,200,800');
  return [...new Set(numbers)];
}
