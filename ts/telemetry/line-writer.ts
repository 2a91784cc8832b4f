import { write, writeSync } from 'node:fs'
import { LAST_LINES_MS, RETRY_MS, UNWRITTEN_BYTES_MAX, WRITE_BYTES_MAX } from './limits.js'

/**
 * Writes lines to a standard stream in the background, without ever throwing. Repeats failed writes. If too many bytes
 * wait, drops further lines, and reports their number in a later line.
 *
 * pino's own destination has two faults: it stops for good if its buffer fills up during an error, and it blocks
 * shutdown while a pipe is full.
 */
export class LineWriter {
  readonly #fd: number
  readonly #lossLine: (lost: number) => string
  /** Waiting lines, oldest first. The first buffer may be partly written. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #lost = 0
  #isWriting = false
  #retry: NodeJS.Timeout | null = null
  #emptied: () => void = () => undefined

  /**
   * @param stream such as `process.stderr`. Only its descriptor is used, but the stream must exist: Node.js then makes
   * writes to full pipes and sockets fail instead of block.
   * @param lossLine formats the line that reports the number of lost lines, with its line end
   */
  constructor(stream: { readonly fd: number }, lossLine: (lost: number) => string) {
    this.#fd = stream.fd
    this.#lossLine = lossLine
  }

  /** @param text one or more lines, with line ends */
  write(text: string): void {
    const line = Buffer.from(text)
    // After a loss, all lines are dropped until the line that reports the loss is queued.
    if (this.#lost > 0 || this.#waitingBytes + line.length > UNWRITTEN_BYTES_MAX) {
      this.#lost++
      return
    }
    this.#add(line)
    this.#writeOn()
  }

  /** Resolves when all lines are written, or after `LAST_LINES_MS`. */
  async end(): Promise<void> {
    if (this.#waitingBytes === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#emptied = resolve
      timer = setTimeout(resolve, LAST_LINES_MS)
    })
    clearTimeout(timer)
  }

  /** Writes as much as possible synchronously, before the process ends. */
  writeNow(): void {
    // A running write completes on its own, so its bytes, the first buffer, are not written again.
    const rest = this.#isWriting ? this.#waiting.slice(1) : this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    try {
      for (const bytes of rest)
        for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at, bytes.length - at)
    } catch {
      // No other stream is available to report the failure.
    }
  }

  #add(line: Buffer): void {
    this.#waiting.push(line)
    this.#waitingBytes += line.length
  }

  #writeOn(): void {
    if (this.#isWriting || this.#retry !== null || this.#waiting.length === 0) return
    this.#isWriting = true
    const bytes = this.#firstBytes()
    write(this.#fd, bytes, 0, bytes.length, null, (error, written) => {
      this.#isWriting = false
      if (error === null) this.#wrote(written)
      else this.#pause()
    })
  }

  /** Joins the first lines into one buffer, which replaces them in the queue. */
  #firstBytes(): Buffer {
    let count = 0
    let size = 0
    for (const { length } of this.#waiting) {
      if (count > 0 && size + length > WRITE_BYTES_MAX) break
      count++
      size += length
    }
    const bytes = count === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting.slice(0, count), size)
    this.#waiting.splice(0, count, bytes)
    return bytes
  }

  #wrote(written: number): void {
    const bytes = this.#waiting[0]
    if (bytes === undefined) return
    if (written === bytes.length) this.#waiting.shift()
    else this.#waiting[0] = bytes.subarray(written)
    this.#waitingBytes -= written
    if (this.#lost > 0) {
      this.#add(Buffer.from(this.#lossLine(this.#lost)))
      this.#lost = 0
    }
    if (this.#waitingBytes === 0) this.#emptied()
    this.#writeOn()
  }

  /** Pauses before the next write. Every error may be temporary: a disk gets free space, a pipe is read. */
  #pause(): void {
    this.#retry = setTimeout(() => {
      this.#retry = null
      this.#writeOn()
    }, RETRY_MS)
    // Lines that cannot be written must not keep the process running.
    this.#retry.unref()
  }
}
