/** Splits chunks of CSV into records. */

/** The bytes of a record's cells, and the start of the record: 1-based line, and offset in bytes. */
export interface CsvRecord {
  readonly cells: readonly Buffer[]
  readonly line: number
  readonly byte: number
}

const [QUOTE, CARRIAGE_RETURN, NEWLINE] = Buffer.from('"\r\n') as unknown as readonly [number, number, number]

const isTerminator = (byte: number): boolean => byte === NEWLINE || byte === CARRIAGE_RETURN

/**
 * Splits CSV into records as the native engine does: a cell is quoted only if it begins with a quote, and text after
 * its closing quote belongs to it; records end with `\n`, `\r` or `\r\n`; empty lines are skipped; an open quote ends
 * with the body.
 */
export class CsvSplitter {
  private readonly delimiter: number
  /** The place of the next byte. `quote` follows a quote inside a quoted cell. */
  private place: 'before a record' | 'before a cell' | 'cell' | 'quoted cell' | 'quote' = 'before a record'
  private cells: Buffer[] = []
  /** Bytes of the current cell, except those of the current chunk behind its last quote. */
  private pieces: Buffer[] = []
  private line = 1
  /** Offset of the current chunk. */
  private offset = 0
  private start = { line: 1, byte: 0 }

  /** @param delimiter an ASCII character */
  constructor(delimiter: string) {
    this.delimiter = delimiter.charCodeAt(0)
  }

  /** Yields the records that end inside `chunk`. */
  *feed(chunk: Buffer): Generator<CsvRecord> {
    /** Start of the bytes of the cell that `pieces` lacks. */
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (byte === NEWLINE) this.line++
      if (this.place === 'quoted cell') {
        if (byte !== QUOTE) continue
        this.pieces.push(chunk.subarray(from, at))
        this.place = 'quote'
      } else if (this.place === 'before a record' && isTerminator(byte)) {
        // An empty line, or the second character of `\r\n`.
      } else if (byte === QUOTE && this.place !== 'cell') {
        // A doubled quote belongs to the cell.
        from = this.place === 'quote' ? at : at + 1
        this.place = 'quoted cell'
      } else {
        if (this.place !== 'cell') from = at
        if (byte === this.delimiter) {
          this.endCell(chunk.subarray(from, at))
          this.place = 'before a cell'
        } else if (isTerminator(byte)) {
          this.endCell(chunk.subarray(from, at))
          yield this.take(this.offset + at + 1)
        } else this.place = 'cell'
      }
    }
    if (this.place === 'cell' || this.place === 'quoted cell') this.pieces.push(chunk.subarray(from))
    this.offset += chunk.length
  }

  /** Yields the last record, if the body does not end with a line break. */
  *finish(): Generator<CsvRecord> {
    if (this.place === 'before a record') return
    this.endCell(Buffer.alloc(0))
    yield this.take(this.offset)
  }

  private endCell(last: Buffer): void {
    this.cells.push(this.pieces.length === 0 ? last : Buffer.concat([...this.pieces, last]))
    this.pieces = []
  }

  private take(end: number): CsvRecord {
    const record = { cells: this.cells, ...this.start }
    this.cells = []
    this.place = 'before a record'
    this.start = { line: this.line, byte: end }
    return record
  }
}
