import { pino } from 'pino'

/** The property by which a destination asks pino to set `lastLevel` before each line. */
const metadata: unique symbol = Symbol.for('pino.metadata')

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** A destination of log lines. */
export interface Outlet {
  /** The lowest level of the lines that it gets. */
  readonly level: LogLevel
  /** @param line JSON with its line end */
  write(line: string): void
}

const numberOf = (level: LogLevel): number =>
  level === 'silent' ? Number.POSITIVE_INFINITY : (pino.levels.values[level] ?? Number.POSITIVE_INFINITY)

/**
 * The destinations of one logger: the console, and clients that follow the log for a while. Each gets the lines from
 * its own level on.
 */
export class LogOutlets {
  readonly [metadata] = true
  /** The level of the next line. pino sets it before each write. */
  lastLevel = 0
  readonly #followers = new Set<Outlet>()
  #console: Outlet
  #levelChanged: (level: LogLevel) => void = () => undefined

  constructor(console: Outlet) {
    this.#console = console
  }

  /**
   * @param listener called with the lowest level of all destinations when it changes, so that the logger makes no other
   * lines
   */
  onLevel(listener: (level: LogLevel) => void): void {
    this.#levelChanged = listener
  }

  write(line: string): void {
    for (const outlet of [this.#console, ...this.#followers])
      if (this.lastLevel >= numberOf(outlet.level)) outlet.write(line)
  }

  /** Changes the lowest level that the console shows. */
  setConsoleLevel(level: LogLevel): void {
    const { write } = this.#console
    this.#console = { level, write }
    this.#tellLevel()
  }

  /** Writes lines to `outlet` too, until the returned function is called. */
  follow(outlet: Outlet): () => void {
    this.#followers.add(outlet)
    this.#tellLevel()
    return () => {
      this.#followers.delete(outlet)
      this.#tellLevel()
    }
  }

  #tellLevel(): void {
    const levels = [this.#console, ...this.#followers].map(({ level }) => level)
    this.#levelChanged(levels.reduce((a, b) => (numberOf(b) < numberOf(a) ? b : a)))
  }
}
