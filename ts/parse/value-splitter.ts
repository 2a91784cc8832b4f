/** Splits chunks of JSON text into top-level values. */

/** The start of a value: 1-based line and column, in bytes. */
interface Position {
  readonly line: number
  readonly column: number
}

/** The bytes of a value, and its start. */
export interface Slice {
  readonly bytes: Buffer
  readonly at: Position
}

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, NEWLINE] = Buffer.from(
  '"\\{}[],\n',
) as unknown as readonly [number, number, number, number, number, number, number, number]

const isBlank = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/** Thrown for text that is not a sequence of values. */
export class SplitError extends Error {
  constructor(
    readonly reason: string,
    readonly at: Position,
  ) {
    super(`${reason} at line ${at.line} column ${at.column}`)
  }
}

/**
 * Splits JSON into its top-level values (documents), without validating their content. The format `json` is an array or
 * a single value; `ndjson` is any number of values separated by blanks.
 */
export class ValueSplitter {
  /** True inside a top-level array, which is treated as the list of documents. */
  private listed = false
  private afterValue = false
  private ended = false
  private depth = 0
  private inString = false
  private escaped = false
  private inValue = false
  private parts: Buffer[] = []
  private start: Position = { line: 1, column: 1 }
  private readonly now = { line: 1, column: 1 }
  private readonly format: 'json' | 'ndjson'
  private seen = false

  constructor(format: 'json' | 'ndjson') {
    this.format = format
  }

  /** Bytes of an incomplete value. */
  get openBytes(): number {
    return this.parts.reduce((sum, part) => sum + part.length, 0)
  }

  /** Yields the values that end inside `chunk`. @throws SplitError */
  *feed(chunk: Buffer): Generator<Slice> {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (this.inValue) {
        const end = this.inside(byte)
        if (end !== -1) {
          this.parts.push(chunk.subarray(from, at + end))
          yield this.take()
          if (end === 0) this.between(byte)
        }
      } else if (this.between(byte)) {
        from = at
        this.start = { ...this.now }
        this.inside(byte)
      }
      if (byte === NEWLINE) {
        this.now.line++
        this.now.column = 1
      } else this.now.column++
    }
    if (this.inValue) this.parts.push(chunk.subarray(from))
  }

  /** Yields the last value, complete or cut off. @throws SplitError */
  *finish(): Generator<Slice> {
    if (this.inValue) yield this.take()
    if (this.format === 'json' && (this.listed ? !this.ended : !this.seen))
      throw new SplitError('the text ends too early', { ...this.now })
  }

  private take(): Slice {
    const bytes = this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts)
    this.parts = []
    this.inValue = false
    this.afterValue = true
    return { bytes, at: this.start }
  }

  /** @returns true if a value starts with `byte` */
  private between(byte: number): boolean {
    if (isBlank(byte)) return false
    if (this.format === 'json') {
      if (this.ended) throw this.unexpected(byte)
      if (!this.seen && byte === OPEN_BRACKET) {
        this.seen = true
        this.listed = true
        return false
      }
      if (this.listed && byte === CLOSE_BRACKET && (this.afterValue || !this.pendingComma)) {
        this.ended = true
        return false
      }
      if (this.listed && this.afterValue && byte === COMMA) {
        this.afterValue = false
        this.pendingComma = true
        return false
      }
      if (this.afterValue || byte === COMMA) throw this.unexpected(byte)
    }
    this.seen = true
    this.pendingComma = false
    this.inValue = true
    this.depth = 0
    this.inString = false
    return true
  }

  private pendingComma = false

  private unexpected(byte: number): SplitError {
    return new SplitError(`unexpected character \`${String.fromCharCode(byte)}\``, { ...this.now })
  }

  /** @returns the number of bytes from this one that belong to the value if it ends here; -1 if it continues */
  private inside(byte: number): number {
    if (this.inString) {
      if (this.escaped) this.escaped = false
      else if (byte === BACKSLASH) this.escaped = true
      else if (byte === QUOTE) {
        this.inString = false
        return this.depth === 0 ? 1 : -1
      }
      return -1
    }
    if (byte === QUOTE) this.inString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (this.depth === 0) return 0
      this.depth--
      return this.depth === 0 ? 1 : -1
    } else if (this.depth === 0 && (isBlank(byte) || byte === COMMA)) return 0
    return -1
  }
}
