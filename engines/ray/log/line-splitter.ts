/** Longer lines are no line of a framework that matters here: they are dropped, so that memory stays flat. UTF-16 units. */
export const LONGEST_LINE = 1 << 17;

/** Cuts text that comes in pieces into lines; \n, \r\n and \r end one (progress bars end theirs with \r). */
export class LineSplitter {
  private rest = '';
  private dropping = false;
  /** Lines that were longer than the limit. */
  dropped = 0;

  constructor(private readonly onLine: (line: string) => void) {}

  push(text: string): void {
    let at = 0;
    for (const { 0: ending, index } of text.matchAll(/\r\n|\r|\n/g)) {
      this.take(text.slice(at, index));
      this.flush();
      at = index + ending.length;
    }
    this.take(text.slice(at));
  }

  /** What is left without a line end is a line too. */
  end(): void {
    this.flush();
  }

  private take(piece: string): void {
    if (this.dropping || piece === '') return;
    if (this.rest.length + piece.length <= LONGEST_LINE) this.rest += piece;
    else {
      this.rest = '';
      this.dropping = true;
      this.dropped += 1;
    }
  }

  private flush(): void {
    if (this.rest !== '') this.onLine(this.rest);
    this.rest = '';
    this.dropping = false;
  }
}
