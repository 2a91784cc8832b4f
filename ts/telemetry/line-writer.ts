import { write, writeSync } from 'node:fs'
import { LAST_LINES_MS, RETRY_MS, UNWRITTEN_BYTES_MAX, WRITE_BYTES_MAX } from './limits.js'

/**
 * Writes lines to a standard stream in the background, without ever throwing. A failed write is repeated. When too many
 * bytes wait, further lines are lost, and a later line tells how many.
 *
 * pino's own destination has two faults: it stops for good if its buffer fills up during an error, and it blocks the
 * end of the process while a pipe is full.
 */
export class LineWriter {
  readonly #fd: number
  readonly #lossLine: (lost: number) => string
  /** Lines that wait, oldest first. Of the first buffer a part may have been written. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #lost = 0
  #isWriting = false
  #retry: NodeJS.Timeout | null = null
  #emptied: () => void = () => undefined

  /**
   * @param stream such as `process.stderr`. Only its descriptor is used, but the stream must have been created, since
   * Node.js   then sets pipes and sockets to fail a write that does not fit instead of blocking.
   * @param lossLine makes the line that tells how many lines were lost, with its line end
   */
  constructor(stream: { readonly fd: number }, lossLine: (lost: number) => string) {
    this.#fd = stream.fd
    this.#lossLine = lossLine
  }

  /** @param text one line or several, with line ends */
  write(text: string): void {
    const line = Buffer.from(text)
    // After a loss, further lines are lost too until the line that tells of the loss has been added.
    if (this.#lost > 0 || this.#waitingBytes + line.length > UNWRITTEN_BYTES_MAX) {
      this.#lost++
      return
    }
    this.#add(line)
    this.#writeOn()
  }

  /** Resolves when all lines have been written, at the latest after `LAST_LINES_MS`. */
  async end(): Promise<void> {
    if (this.#waitingBytes === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#emptied = resolve
      timer = setTimeout(resolve, LAST_LINES_MS)
    })
    clearTimeout(timer)
  }

  /** Writes as much as possible at once, synchronously, before the process ends. */
  writeNow(text = ''): void {
    if (text !== '') this.#add(Buffer.from(text))
    // A running write completes by itself, so its bytes, the first buffer, are not written again.
    const rest = this.#isWriting ? this.#waiting.slice(1) : this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    try {
      for (const bytes of rest)
        for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at, bytes.length - at)
    } catch {
      // There is no other stream on which the failure could be reported.
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

  /** Pauses before the next write. Every error may be temporary: space on a disk is freed, a pipe is read. */
  #pause(): void {
    this.#retry = setTimeout(() => {
      this.#retry = null
      this.#writeOn()
    }, RETRY_MS)
    // Lines that cannot be written must not keep the process running.
    this.#retry.unref()
  }
}
