import type { FastifyBaseLogger } from 'fastify'
import type { Logger } from '../../telemetry/index.js'

type Bindings = Parameters<Logger['child']>[0]
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
type Write = (...given: unknown[]) => void

/**
 * A logger whose children are made when they log their first line. fastify makes a child for every request, and most
 * requests log nothing through it.
 */
export class LazyLog implements FastifyBaseLogger {
  readonly #make: () => Logger
  #made: Logger | null = null

  constructor(make: () => Logger) {
    this.#make = make
  }

  child(bindings: Bindings): LazyLog {
    return new LazyLog(() => this.#log.child(bindings))
  }

  get level(): string {
    return this.#log.level
  }

  fatal(...given: unknown[]): void {
    this.#write('fatal', given)
  }

  error(...given: unknown[]): void {
    this.#write('error', given)
  }

  warn(...given: unknown[]): void {
    this.#write('warn', given)
  }

  info(...given: unknown[]): void {
    this.#write('info', given)
  }

  debug(...given: unknown[]): void {
    this.#write('debug', given)
  }

  trace(...given: unknown[]): void {
    this.#write('trace', given)
  }

  silent(...given: unknown[]): void {
    this.#write('silent', given)
  }

  get #log(): Logger {
    this.#made ??= this.#make()
    return this.#made
  }

  #write(level: Level, given: unknown[]): void {
    const log = this.#log
    ;(log[level] as Write).apply(log, given)
  }
}
