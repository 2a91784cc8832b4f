import { type Logger, pino } from 'pino'
import type { LogLevel, LogModule, LogTarget } from '../launch/index.js'

/** The property by which a destination asks pino to set `lastLevel` and `lastLogger` before each line. */
const metadata: unique symbol = Symbol.for('pino.metadata')

/** The property of a logger that names its module. Loggers made from that logger inherit it. */
const moduleOf: unique symbol = Symbol('module')
/** The property of a logger that holds the destinations of its lines. */
const outletsOf: unique symbol = Symbol('outlets')

type Marked = Logger & { [moduleOf]?: LogModule; [outletsOf]?: LogOutlets }

/** A destination of log lines. */
export interface Outlet {
  /** The lines that it gets. */
  readonly target: LogTarget
  /** @param line JSON with its line end */
  write(line: string): void
}

/** Levels as pino names them. */
const pinoLevel = (level: LogLevel): string => (level === 'off' ? 'silent' : level)

const numberOf = (level: LogLevel): number => pino.levels.values[level] ?? Number.POSITIVE_INFINITY

const levelIn = ({ others, modules }: LogTarget, module: LogModule | undefined): LogLevel =>
  (module === undefined ? undefined : modules[module]) ?? others

/**
 * The destinations of one logger: the console, and clients that follow the log for a while. Each gets the lines from
 * its own level on, which may differ from module to module.
 */
export class LogOutlets {
  readonly [metadata] = true
  /** The level of the next line. pino sets it before each write. */
  lastLevel = 0
  /** The logger of the next line. pino sets it before each write. */
  lastLogger: Marked | null = null
  readonly #followers = new Set<Outlet>()
  /** The loggers of modules. */
  readonly #loggers = new Map<LogModule, Marked>()
  #root: Marked | null = null
  #console: Outlet

  constructor(console: Outlet) {
    this.#console = console
  }

  /** Makes a logger write no more lines than its destinations want. @param log writes to this object */
  attach(log: Logger): void {
    this.#root = log
    this.#root[outletsOf] = this
    this.#setLevels()
  }

  /** The logger of a module. */
  module(module: LogModule): Logger {
    const known = this.#loggers.get(module)
    if (known !== undefined) return known
    if (this.#root === null) throw new TypeError('no logger writes to these destinations')
    const log: Marked = this.#root.child({ target: module })
    log[moduleOf] = module
    this.#loggers.set(module, log)
    this.#setLevels()
    return log
  }

  write(line: string): void {
    const module = this.lastLogger?.[moduleOf]
    for (const outlet of [this.#console, ...this.#followers])
      if (this.lastLevel >= numberOf(levelIn(outlet.target, module))) outlet.write(line)
  }

  /** Changes which lines the console shows. */
  setConsoleTarget(target: LogTarget): void {
    const { write } = this.#console
    this.#console = { target, write }
    this.#setLevels()
  }

  /** Writes lines to `outlet` too, until the returned function is called. */
  follow(outlet: Outlet): () => void {
    this.#followers.add(outlet)
    this.#setLevels()
    return () => {
      this.#followers.delete(outlet)
      this.#setLevels()
    }
  }

  /** Gives each logger the lowest level that a destination wants of its module, so that it makes no other lines. */
  #setLevels(): void {
    const targets = [this.#console, ...this.#followers].map(({ target }) => target)
    for (const log of [this.#root, ...this.#loggers.values()]) {
      if (log === null) continue
      const levels = targets.map((target) => levelIn(target, log[moduleOf]))
      log.level = pinoLevel(levels.reduce((a, b) => (numberOf(b) < numberOf(a) ? b : a)))
    }
  }
}

/**
 * The logger of one module: its lines name the module, and have the level of that module.
 * @param log any logger with the same destinations, such as that of another module
 */
export const moduleLog = (log: { child(bindings: object): unknown }, module: LogModule): Logger =>
  (log as Marked)[outletsOf]?.module(module) ?? (log.child({ target: module }) as Logger)
