/**
 * Loaded into a worker with `node --import`: the wall clock jumps an hour ahead and back again while the process runs, as after a
 * wrong time server. Only JavaScript's clock: the system's own belongs to everybody on the machine.
 */
const JUMP_MS = 3_600_000;
const EVERY_MS = 1_700;
const RealDate = Date;
let offset = 0;

class JumpingDate extends RealDate {
  constructor(...args: [] | [value: number | string | Date]) {
    super(...((args.length === 0 ? [JumpingDate.now()] : args) as [number]));
  }

  static override now(): number {
    return RealDate.now() + offset;
  }
}

globalThis.Date = JumpingDate as DateConstructor;
setInterval(() => {
  offset = offset === 0 ? JUMP_MS : 0;
}, EVERY_MS).unref();
