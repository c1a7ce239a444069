import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** Room of the disk while it is not full. */
const ROOM = '2g';

/** A file system of its own for the runs, which can be made full and roomy again. */
export interface SmallDisk {
  folder: string;
  /** Leaves no room for another byte: writes fail with ENOSPC. */
  fill(): void;
  /** Gives the room back. */
  free(): void;
  remove(): void;
}

/** Mounts a memory file system on a folder. @returns undefined where this is not allowed (it needs the right to mount) */
export function smallDisk(folder: string): SmallDisk | undefined {
  mkdirSync(folder, { recursive: true });
  if (!run('mount', '-t', 'tmpfs', '-o', `size=${ROOM}`, 'memagent-chaos', folder)) return undefined;
  return {
    folder,
    fill: () => {
      // A limit below what is used is refused: try upwards from there.
      for (let kib = usedKib(folder); !run('mount', '-o', `remount,size=${kib}k`, folder); kib += 4);
    },
    free: () => void run('mount', '-o', `remount,size=${ROOM}`, folder),
    remove: () => void run('umount', '-l', folder),
  };
}

function usedKib(folder: string): number {
  const { stdout } = spawnSync('df', ['-k', '--output=used', folder], { encoding: 'utf8' });
  return Number(stdout.split('\n')[1]);
}

function run(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
