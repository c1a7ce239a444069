/** Numbers and times for people. Times are UTC, so that a report has the same bytes everywhere. */

const MINUS = '−';

/** Fixed decimals with a real minus sign; `–` for what is not a finite number. */
export function fixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const text = value.toFixed(digits);
  return text.startsWith('-') ? `${MINUS}${text.slice(1)}` : text;
}

/** Like {@link fixed} with `+` in front of positive numbers. */
export function signed(value: number | null | undefined, digits: number): string {
  const text = fixed(value, digits);
  return value !== null && value !== undefined && value > 0 && text !== '–' ? `+${text}` : text;
}

/** A number of percent, e.g. `84.4 %` (no-break space). */
export function percent(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined ? '–' : `${fixed(value, digits)}\u00a0%`;
}

/** Three significant digits; very small and very large numbers in powers of ten. */
export function significant(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  const text = size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(3))) : value.toExponential(2);
  return text.replaceAll('-', MINUS);
}

/** Thousands separated by a thin space, e.g. `12 345`. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** `1 sample`, `2 samples`. */
export function plural(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)}\u00a0${value === 1 ? noun : nouns}`;
}

/** Seconds as `4 min 05 s`, `2 h 10 min`, `3 d 4 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  if (seconds < 10) return `${fixed(seconds, 1)}\u00a0s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total}\u00a0s`;
  if (total < 3600) return `${Math.floor(total / 60)}\u00a0min ${String(total % 60).padStart(2, '0')}\u00a0s`;
  const minutes = Math.round(total / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}\u00a0h ${minutes % 60}\u00a0min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)}\u00a0d ${hours % 24}\u00a0h`;
}

/** Bytes with a decimal unit, e.g. `4.2 MB`. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let rest = value;
  let unit = 0;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? rest : rest.toFixed(rest < 10 ? 1 : 0)}\u00a0${units[unit] ?? ''}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** An ISO 8601 time as `7 Oct 2026, 10:04 UTC`; `–` when it is none. */
export function dateTime(iso: string | undefined): string {
  const time = new Date(iso ?? NaN);
  if (Number.isNaN(time.getTime())) return '–';
  return `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()] ?? ''} ${time.getUTCFullYear()}, ${clock(time)} UTC`;
}

/** An ISO 8601 time as `10:04:31`. */
export function timeOfDay(iso: string | undefined): string {
  const time = new Date(iso ?? NaN);
  if (Number.isNaN(time.getTime())) return '–';
  return `${clock(time)}:${String(time.getUTCSeconds()).padStart(2, '0')}`;
}

function clock(time: Date): string {
  return `${String(time.getUTCHours()).padStart(2, '0')}:${String(time.getUTCMinutes()).padStart(2, '0')}`;
}

/** Seconds between two ISO 8601 times; undefined when one of them is none. */
export function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  const seconds = (Date.parse(to ?? '') - Date.parse(from ?? '')) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** Mean and 95 % Wilson score interval of a proportion, in percent. Source: E. B. Wilson, JASA 22 (1927). */
export function wilsonPercent(share: number, total: number): { low: number; high: number } | undefined {
  if (!(total > 0) || !(share >= 0) || share > 1) return undefined;
  const z = 1.959963984540054;
  const centre = share + (z * z) / (2 * total);
  const spread = z * Math.sqrt((share * (1 - share)) / total + (z * z) / (4 * total * total));
  const scale = 100 / (1 + (z * z) / total);
  return { low: Math.max(0, (centre - spread) * scale), high: Math.min(100, (centre + spread) * scale) };
}
