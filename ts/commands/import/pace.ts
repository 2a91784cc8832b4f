import type { CommandOutput } from '../../command/index.js'

/** Milliseconds over which the shown rate is measured. */
const WINDOW_MS = 5_000

/** Shows how far an import is, and how fast. */
export class Pace {
  readonly #output: Pick<CommandOutput, 'progress'>
  readonly #bytes: number
  readonly #startedAt = performance.now()
  /** Documents at moments of the last seconds, the oldest first. */
  #recent: readonly (readonly [at: number, documents: number])[] = [[this.#startedAt, 0]]

  /** @param bytes of all inputs; 0: unknown */
  constructor(output: Pick<CommandOutput, 'progress'>, bytes: number) {
    this.#output = output
    this.#bytes = bytes
    output.progress('importing', 0, bytes)
  }

  /** Since the beginning. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000
  }

  /** @param readBytes bytes of the inputs whose documents are indexed */
  show(documents: number, readBytes: number): void {
    const now = performance.now()
    // The last moment before the window stays, since batches may take longer than the window is.
    const before = this.#recent.findLastIndex(([at]) => now - at >= WINDOW_MS)
    this.#recent = [...this.#recent.slice(Math.max(0, before)), [now, documents]]
    const [since, first] = this.#recent[0]!
    const seconds = (now - since) / 1000
    const rate = seconds === 0 ? 0 : Math.round((documents - first) / seconds)
    const detail = `${documents.toLocaleString('en')} documents, ${rate.toLocaleString('en')}/s`
    this.#output.progress('importing', Math.min(readBytes, this.#bytes), this.#bytes, detail)
  }
}
