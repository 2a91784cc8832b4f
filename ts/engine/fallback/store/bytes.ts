/** Variable-length encoding: seven bits per byte, the high bit is set if more bytes follow. */

/** Appends to a growing buffer. */
export class ByteWriter {
  private bytes = Buffer.allocUnsafe(64 * 1024)
  private filled = 0

  get length(): number {
    return this.filled
  }

  /** @param value an integer from 0 to 2^32 − 1 */
  number(value: number): void {
    if (this.filled + 5 > this.bytes.length) this.grow(5)
    let left = value
    while (left > 0x7f) {
      this.bytes[this.filled++] = (left & 0x7f) | 0x80
      left >>>= 7
    }
    this.bytes[this.filled++] = left
  }

  double(value: number): void {
    if (this.filled + 8 > this.bytes.length) this.grow(8)
    this.filled = this.bytes.writeDoubleLE(value, this.filled)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.number(length)
    if (this.filled + length > this.bytes.length) this.grow(length)
    this.filled += this.bytes.write(value, this.filled)
  }

  /** Fixed-width 32-bit numbers. */
  words(values: Uint32Array): void {
    this.number(values.length)
    if (this.filled + values.length * 4 > this.bytes.length) this.grow(values.length * 4)
    for (const value of values) this.filled = this.bytes.writeUInt32LE(value, this.filled)
  }

  private grow(by: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.filled + by))
    larger.set(this.bytes.subarray(0, this.filled))
    this.bytes = larger
  }

  /** Returns the bytes written since the last call; valid until the next write. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.filled)
    this.filled = 0
    return taken
  }
}

/** Reads bytes written by `ByteWriter`. They were checked before: reading past the end is our own fault. */
export class ByteReader {
  private readonly bytes: Buffer
  private at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }

  number(): number {
    let byte = this.bytes[this.at++]!
    if (byte < 0x80) return byte
    let value = byte & 0x7f
    for (let shift = 7; ; shift += 7) {
      byte = this.bytes[this.at++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
  }

  double(): number {
    const value = this.bytes.readDoubleLE(this.at)
    this.at += 8
    return value
  }

  text(): string {
    const length = this.number()
    this.at += length
    return this.bytes.toString('utf8', this.at - length, this.at)
  }

  words(): Uint32Array {
    const values = new Uint32Array(this.number())
    for (let at = 0; at < values.length; at++, this.at += 4) values[at] = this.bytes.readUInt32LE(this.at)
    return values
  }
}
