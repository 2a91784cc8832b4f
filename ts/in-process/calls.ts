/** The calls of a program to an open directory: they keep its process alive, and end with `close`. */
import { ClosedError } from './errors.js'
import { TIMER_MS_MAX } from './limits.js'

export class Calls {
  readonly #alive: NodeJS.Timeout
  readonly #keepsAlive: boolean
  #underWay = 0
  #isClosed = false
  #closing: Promise<void> | null = null

  /** @param keepsAlive true if the process stays alive until `close`, also without calls */
  constructor(keepsAlive: boolean) {
    this.#keepsAlive = keepsAlive
    this.#alive = setInterval(() => undefined, TIMER_MS_MAX)
    if (!keepsAlive) this.#alive.unref()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Refuses later calls, and keeps the process alive until `close` ends. Calls it once. */
  close(close: () => Promise<void>): Promise<void> {
    this.#isClosed = true
    this.#closing ??= this.hold(close).finally(() => clearInterval(this.#alive))
    return this.#closing
  }

  /** Keeps the process alive while `work` runs. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay++ === 0) this.#alive.ref()
    try {
      return await work()
    } finally {
      if (--this.#underWay === 0 && !this.#keepsAlive) this.#alive.unref()
    }
  }

  /**
   * Returns `target` with methods that reject with a `ClosedError` after `close`.
   * @param synchronous names of the methods that throw it
   */
  guard<T extends object>(target: T, synchronous: readonly (keyof T & string)[] = []): T {
    const names: readonly string[] = synchronous
    const members = Object.entries(target).map(([name, member]): [string, unknown] => {
      if (typeof member !== 'function') return [name, member]
      const method = member as Method
      if (!names.includes(name))
        return [name, (...parameters: unknown[]) => this.#held(name, method, parameters)]
      return [name, (...parameters: unknown[]) => this.#open(name, method, parameters)]
    })
    return Object.fromEntries(members) as T
  }

  #open(name: string, method: Method, parameters: readonly unknown[]): unknown {
    if (this.#isClosed) throw new ClosedError(name)
    return method(...parameters)
  }

  async #held(name: string, method: Method, parameters: readonly unknown[]): Promise<unknown> {
    if (this.#isClosed) throw new ClosedError(name)
    try {
      return await this.hold(async () => method(...parameters))
    } catch (error) {
      // The queue or the engine may have ended under the call.
      throw this.#isClosed && !hasCode(error) ? new ClosedError(name) : error
    }
  }
}

type Method = (...parameters: unknown[]) => unknown

const hasCode = (error: unknown): boolean => error instanceof Error && 'code' in error
