import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { PipelineError } from '../contracts/pipeline-error.js';

const NEWLINE = 0x0a;

/**
 * Byte offsets of a file's lines, so that a step reads only its own rows of a data set of any size. Memory: 8 bytes a line.
 */
export class LineIndex {
  private constructor(
    private readonly path: string,
    private readonly starts: Float64Array,
    private readonly end: number
  ) {}

  /** Reads the file once, streaming. */
  static async build(path: string): Promise<LineIndex> {
    const starts: number[] = [];
    let position = 0;
    let lineStart = 0;
    for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
      const bytes = piece as Buffer;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
        starts.push(lineStart);
        lineStart = position + at + 1;
      }
      position += bytes.byteLength;
    }
    if (lineStart < position) starts.push(lineStart);
    return new LineIndex(path, Float64Array.from(starts), position);
  }

  get lines(): number {
    return this.starts.length;
  }

  /**
   * Parses the lines with the given numbers, in the order asked for.
   *
   * @throws PipelineError DataInvalid for a number outside the file or a line that is not JSON
   */
  async readJson<T>(numbers: readonly number[]): Promise<T[]> {
    const handle = await open(this.path, 'r');
    try {
      const values: T[] = [];
      for (const number of numbers) values.push(await this.readOne<T>(handle, number));
      return values;
    } finally {
      await handle.close();
    }
  }

  /**
   * The text of one line, without its line feed.
   *
   * @throws PipelineError DataInvalid for a number outside the file
   */
  async readLine(number: number): Promise<string> {
    const handle = await open(this.path, 'r');
    try {
      return (await this.textOf(handle, number)).replace(/\n$/, '');
    } finally {
      await handle.close();
    }
  }

  private async textOf(handle: FileHandle, number: number): Promise<string> {
    const start = this.starts[number];
    if (start === undefined)
      throw new PipelineError('DataInvalid', `${this.path} has ${this.lines} lines, line ${number + 1} was asked for`);
    const stop = this.starts[number + 1] ?? this.end;
    const buffer = Buffer.alloc(stop - start);
    await handle.read(buffer, 0, buffer.byteLength, start);
    return buffer.toString('utf8');
  }

  private async readOne<T>(handle: FileHandle, number: number): Promise<T> {
    const text = await this.textOf(handle, number);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new PipelineError(
        'DataInvalid',
        `${this.path}: line ${number + 1} is not JSON: ${(error as Error).message}`,
        { where: this.path }
      );
    }
  }
}
