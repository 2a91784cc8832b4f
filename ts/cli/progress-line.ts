import type { Logger } from '../telemetry/index.js'

/** How often progress is shown: on a terminal, and as lines of the log elsewhere. */
const TERMINAL_MS = 100
const LOG_MS = 10_000

/** What shows how far a long start has come. */
export interface ProgressLine {
  show(doing: string, finished: number, total: number): void
  /** Leaves nothing on the terminal. */
  end(): void
}

/** One line on a terminal, over and over; now and then a line of the log where there is none. */
export function progressLine(terminal: NodeJS.WriteStream, log: Logger): ProgressLine {
  let shownAt = Number.NEGATIVE_INFINITY
  const interval = terminal.isTTY ? TERMINAL_MS : LOG_MS
  return {
    show(doing, finished, total) {
      if (performance.now() - shownAt < interval) return
      shownAt = performance.now()
      const share = total === 0 ? '' : ` ${Math.floor((100 * finished) / total)} %`
      if (terminal.isTTY) terminal.write(`\r\x1b[K${doing}${share}`)
      else log.info({ finished, total }, doing)
    },
    end() {
      if (terminal.isTTY) terminal.write('\r\x1b[K')
    },
  }
}
