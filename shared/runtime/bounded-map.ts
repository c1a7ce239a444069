/** Sets an entry; a new one in a map that is full takes the place of the oldest. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  if (map.size >= most && !map.has(key)) {
    const [oldest] = map.keys();
    map.delete(oldest as Key);
  }
  map.set(key, value);
}
