import { write, writeSync } from 'node:fs'
import { LAST_LINES_MS, RETRY_MS, UNWRITTEN_BYTES_MAX, WRITE_BYTES_MAX } from './limits.js'

/**
 * Writes lines to a standard stream in the background and never fails: lines that the file, pipe or device
 * does not take are tried again, and lost once too many wait. After a loss a line says how many were lost.
 *
 * pino's own destination is not used: it stops for good once its buffer was full during an error, and it blocks
 * the end of the process for as long as a pipe is full.
 */
export class LineWriter {
  readonly #fd: number
  readonly #lossLine: (lost: number) => string
  /** Lines that wait, oldest first; the first one may be partly written. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #lost = 0
  #isWriting = false
  #retry: NodeJS.Timeout | null = null
  #emptied: () => void = () => undefined

  /**
   * @param stream such as `process.stderr`, whose making opens pipes and sockets so that a write which does not fit
   *   fails instead of waiting; only its descriptor is used
   * @param lossLine the line that tells of so many lost lines, with its line end
   */
  constructor(stream: { readonly fd: number }, lossLine: (lost: number) => string) {
    this.#fd = stream.fd
    this.#lossLine = lossLine
  }

  /** @param text one line or several, with line ends */
  write(text: string): void {
    const line = Buffer.from(text)
    // Once lines were lost, those behind them wait for the line that says so.
    if (this.#lost > 0 || this.#waitingBytes + line.length > UNWRITTEN_BYTES_MAX) {
      this.#lost++
      return
    }
    this.#add(line)
    this.#writeOn()
  }

  /** Resolves once everything is written, or after a moment in which that was not possible. */
  async end(): Promise<void> {
    if (this.#waitingBytes === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#emptied = resolve
      timer = setTimeout(resolve, LAST_LINES_MS)
    })
    clearTimeout(timer)
  }

  /** For the last moment of a process: writes what can be written at once. */
  writeNow(text = ''): void {
    if (text !== '') this.#add(Buffer.from(text))
    // A write under way ends by itself; only its own bytes are not written a second time.
    const rest = this.#isWriting ? this.#waiting.slice(1) : this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    try {
      for (const bytes of rest)
        for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at, bytes.length - at)
    } catch {
      // Nothing is left that could be told of it.
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

  /** The first lines as one buffer, which stands for them from then on. */
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

  /** Waits before the next write. Each error may pass: a disk is cleared, a pipe is read, a device answers again. */
  #pause(): void {
    this.#retry = setTimeout(() => {
      this.#retry = null
      this.#writeOn()
    }, RETRY_MS)
    // Lines that cannot be written do not keep a process alive.
    this.#retry.unref()
  }
}

/** Keeps failed writes of others to standard output and standard error, such as warnings of Node, from ending the process. */
export function surviveLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}
