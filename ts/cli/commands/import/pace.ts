import { counted } from '../../../parse/index.js'
import type { CommandOutput } from '../../command/index.js'

/** Milliseconds over which the rate is averaged. */
const WINDOW_MS = 5_000

/** Shows the progress and rate of an import. */
export class Pace {
  readonly #output: Pick<CommandOutput, 'progress'>
  readonly #bytes: number
  readonly #startedAt = performance.now()
  /** Document counts of the last seconds, oldest first. */
  #recent: readonly (readonly [at: number, documents: number])[] = [[this.#startedAt, 0]]

  /** @param bytes of all inputs; 0: unknown */
  constructor(output: Pick<CommandOutput, 'progress'>, bytes: number) {
    this.#output = output
    this.#bytes = bytes
    output.progress('importing', 0, bytes)
  }

  /** Seconds since the start. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000
  }

  /** @param readBytes bytes of the inputs whose documents are indexed */
  show(documents: number, readBytes: number): void {
    const now = performance.now()
    // Keeps the last count before the window, since a batch may take longer than the window.
    const before = this.#recent.findLastIndex(([at]) => now - at >= WINDOW_MS)
    this.#recent = [...this.#recent.slice(Math.max(0, before)), [now, documents]]
    const [since, first] = this.#recent[0]!
    const seconds = (now - since) / 1000
    const rate = seconds === 0 ? 0 : Math.round((documents - first) / seconds)
    const detail = `${counted(documents, 'document')}, ${rate.toLocaleString('en')}/s`
    this.#output.progress('importing', Math.min(readBytes, this.#bytes), this.#bytes, detail)
  }
}
