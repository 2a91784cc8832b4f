/** Milliseconds between two updates of the line on a terminal. */
const TERMINAL_MS = 100
/** Milliseconds between two lines of the log. */
const LOG_MS = 10_000

/** Where lines go if there is no terminal: a log, or anything that writes them. */
export interface ProgressLog {
  info(facts: object, doing: string): void
}

/** Shows the progress of a long start or command. */
export interface ProgressLine {
  show(doing: string, finished: number, total: number): void
  /** Erases the line from the terminal. */
  end(): void
}

/** A line that is overwritten on a terminal; without a terminal, a line of the log from time to time. */
export function progressLine(terminal: NodeJS.WriteStream, log: ProgressLog): ProgressLine {
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
