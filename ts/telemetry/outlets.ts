import { type Logger, pino } from 'pino'
import type { LogLevel, LogModule, LogTarget } from '../launch/index.js'

/** Property of a destination. It makes pino set `lastLevel` and `lastLogger` before each line. */
const metadata: unique symbol = Symbol.for('pino.metadata')

/** Property of a logger with its module. Child loggers inherit it. */
const moduleOf: unique symbol = Symbol('module')
/** Property of a logger with its destinations. */
const outletsOf: unique symbol = Symbol('outlets')

type Marked = Logger & { [moduleOf]?: LogModule; [outletsOf]?: LogOutlets }

/** A destination of log lines. */
export interface Outlet {
  /** The lines that it receives. */
  readonly target: LogTarget
  /**
   * @param line JSON with its line end
   * @param text lines of another thread in the form of the console; `line` is ignored by the console then
   */
  write(line: string, text?: string): void
}

/** The form of lines on the console. */
export interface LineForm {
  readonly mode: 'HUMAN' | 'JSON'
  readonly coloured: boolean
}

/** A line of another thread. */
export interface PassedLine {
  /** JSON with its line end. */
  readonly line: string
  /** The same in the form of the console. */
  readonly text: string
  /** As a number of pino. */
  readonly level: number
  readonly module: LogModule | undefined
}

/** Translates levels to pino's names. */
const pinoLevel = (level: LogLevel): string => (level === 'off' ? 'silent' : level)

const numberOf = (level: LogLevel): number => pino.levels.values[level] ?? Number.POSITIVE_INFINITY

const lowest = (levels: readonly LogLevel[]): LogLevel =>
  levels.reduce((a, b) => (numberOf(b) < numberOf(a) ? b : a))

const levelIn = ({ others, modules }: LogTarget, module: LogModule | undefined): LogLevel =>
  (module === undefined ? undefined : modules[module]) ?? others

/**
 * The destinations of one logger: the console, and clients that temporarily follow the log. Each has its own level,
 * which may differ by module.
 */
export class LogOutlets {
  readonly [metadata] = true
  /** The level of the next line. pino sets it before each write. */
  lastLevel = 0
  /** The logger of the next line. pino sets it before each write. */
  lastLogger: Marked | null = null
  readonly #followers = new Set<Outlet>()
  readonly #loggers = new Map<LogModule, Marked>()
  readonly #listeners: ((target: LogTarget) => void)[] = []
  #root: Marked | null = null
  #console: Outlet

  /** The form of lines on the console. */
  readonly form: LineForm

  constructor(console: Outlet, form: LineForm) {
    this.#console = console
    this.form = form
  }

  /** Limits a logger to the lines that its destinations want. @param log writes to this object */
  attach(log: Logger): void {
    this.#root = log
    this.#root[outletsOf] = this
    this.#setLevels()
  }

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
    const module = this.lastModule
    for (const outlet of [this.#console, ...this.#followers])
      if (this.lastLevel >= numberOf(levelIn(outlet.target, module))) outlet.write(line)
  }

  /** The module of the next line. */
  get lastModule(): LogModule | undefined {
    return this.lastLogger?.[moduleOf]
  }

  /** Writes lines of another thread. */
  pass(lines: readonly PassedLine[]): void {
    const isWanted = ({ target }: Outlet, { level, module }: PassedLine): boolean =>
      level >= numberOf(levelIn(target, module))
    const texts = lines.filter((line) => isWanted(this.#console, line)).map(({ text }) => text)
    if (texts.length > 0) this.#console.write('', texts.join(''))
    for (const outlet of this.#followers)
      for (const passed of lines) if (isWanted(outlet, passed)) outlet.write(passed.line)
  }

  /** The lines that any destination wants. */
  get target(): LogTarget {
    const targets = [this.#console, ...this.#followers].map(({ target }) => target)
    const modules = new Set(targets.flatMap((target) => Object.keys(target.modules) as LogModule[]))
    return {
      others: lowest(targets.map(({ others }) => others)),
      modules: Object.fromEntries(
        [...modules].map((module) => [module, lowest(targets.map((target) => levelIn(target, module)))]),
      ),
    }
  }

  /** Calls `listener` when `target` changes. */
  onTarget(listener: (target: LogTarget) => void): void {
    this.#listeners.push(listener)
  }

  /** Sets which lines the console shows. */
  setConsoleTarget(target: LogTarget): void {
    const { write } = this.#console
    this.#console = { target, write }
    this.#setLevels()
  }

  /** Also writes lines to `outlet`, until the returned function is called. */
  follow(outlet: Outlet): () => void {
    this.#followers.add(outlet)
    this.#setLevels()
    return () => {
      this.#followers.delete(outlet)
      this.#setLevels()
    }
  }

  /** Sets each logger to the lowest level that a destination wants for its module, to avoid unused lines. */
  #setLevels(): void {
    const { target } = this
    for (const log of [this.#root, ...this.#loggers.values()])
      if (log !== null) log.level = pinoLevel(levelIn(target, log[moduleOf]))
    for (const listener of this.#listeners) listener(target)
  }
}

/**
 * Returns the logger of a module. Its lines have the name and the level of that module.
 * @param log any logger with the same destinations, such as that of another module
 */
export const moduleLog = (log: { child(bindings: object): unknown }, module: LogModule): Logger =>
  (log as Marked)[outletsOf]?.module(module) ?? (log.child({ target: module }) as Logger)
