/** 97.5 % and 80 % quantiles of the standard normal distribution. */
export const Z_975 = 1.959963984540054;
export const Z_800 = 0.8416212335729143;

const TERMS = 500;

/** P(Z > x) of a standard normal variable: a power series near 0, a continued fraction in the tail. */
export function normalUpperTail(x: number): number {
  if (Number.isNaN(x)) return Number.NaN;
  if (x < 0) return 1 - normalUpperTail(-x);
  return x < 3 ? 0.5 - density(x) * series(x) : density(x) * tailFraction(x);
}

function density(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** x + x³/3 + x⁵/(3·5) + … (Abramowitz and Stegun 26.2.11). */
function series(x: number): number {
  let term = x;
  let sum = x;
  for (let divisor = 3; divisor < 2 * TERMS && Math.abs(term) > 1e-17 * Math.abs(sum); divisor += 2) {
    term *= (x * x) / divisor;
    sum += term;
  }
  return sum;
}

/** 1/(x + 1/(x + 2/(x + 3/(x + …)))) (Abramowitz and Stegun 26.2.14). */
function tailFraction(x: number): number {
  let fraction = x;
  for (let level = TERMS; level >= 1; level -= 1) fraction = x + level / fraction;
  return 1 / fraction;
}
