/** `4.2 s`, `3 min 07 s`, `2 h 05 min`, `3 d 04 h`. @param seconds - not negative */
export function duration(seconds: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  if (!Number.isFinite(seconds) || seconds < 0) return '?';
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  if (seconds < 60) return '1 min 00 s';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${two((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${two((seconds % 86_400) / 3600)} h`;
}

/** Seconds between two ISO times; `to` defaults to now. */
export function secondsBetween(from: string, to?: string): number {
  const end = to === undefined ? Date.now() : Date.parse(to);
  return Math.max(0, (end - Date.parse(from)) / 1000);
}

/** `950`, `31.2k`, `1.4M`. */
export function compact(value: number): string {
  if (value >= 999_500) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 999.5) return `${(value / 1e3).toFixed(1)}k`;
  return value.toFixed(value < 10 ? 1 : 0);
}

/** `17 bytes`, `1.2 MB`: decimal units, as disks are sold. */
export function bytes(value: number): string {
  for (const [unit, size] of [
    ['TB', 1e12],
    ['GB', 1e9],
    ['MB', 1e6],
    ['kB', 1e3],
  ] as const)
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  return `${value} bytes`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
