import { COPY_BYTES_AIM, COPY_ROWS_FIRST, COPY_ROWS_MAX } from './limits.js'

/** Number of rows to read at once, so that their documents take about the same bytes. */
export class PageSize {
  #rows = COPY_ROWS_FIRST

  get rows(): number {
    return this.#rows
  }

  /** Adapts to documents that were read. @param bytes of their JSON */
  note(documents: number, bytes: number): void {
    if (documents === 0) return
    const fitting = Math.floor((documents * COPY_BYTES_AIM) / Math.max(bytes, 1))
    this.#rows = Math.max(1, Math.min(fitting, this.#rows * 4, COPY_ROWS_MAX))
  }
}
