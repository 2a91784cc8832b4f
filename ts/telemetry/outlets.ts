import { pino } from 'pino'

/** By this mark pino knows that a destination wants to be told the level of each line. */
const metadata: unique symbol = Symbol.for('pino.metadata')

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** A place that log lines go to. */
export interface Outlet {
  readonly level: LogLevel
  /** @param line JSON with its line end */
  write(line: string): void
}

const numberOf = (level: LogLevel): number =>
  level === 'silent' ? Number.POSITIVE_INFINITY : (pino.levels.values[level] ?? Number.POSITIVE_INFINITY)

/**
 * Where the lines of one logger go: the console, and whoever follows it for a while. Each takes lines from
 * its own level on.
 */
export class LogOutlets {
  readonly [metadata] = true
  /** Set by pino before each write. */
  lastLevel = 0
  readonly #followers = new Set<Outlet>()
  #console: Outlet
  #levelChanged: (level: LogLevel) => void = () => undefined

  constructor(console: Outlet) {
    this.#console = console
  }

  /** @param listener told which lines the logger has to make at all */
  onLevel(listener: (level: LogLevel) => void): void {
    this.#levelChanged = listener
  }

  write(line: string): void {
    for (const outlet of [this.#console, ...this.#followers])
      if (this.lastLevel >= numberOf(outlet.level)) outlet.write(line)
  }

  /** Changes what the console shows. */
  setConsoleLevel(level: LogLevel): void {
    const { write } = this.#console
    this.#console = { level, write }
    this.#tellLevel()
  }

  /** Hands lines to `outlet` as well until the returned function is called. */
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
