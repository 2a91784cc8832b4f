import { appendFile, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { makeDirectory } from '../../engine/index.js'
import { hashedText } from './hashed-text.js'
import { dayOf, dayOfName, fileName, readDay, rewriteDay, startLine, tallyLine } from './history-file.js'
import { HISTORY_DAY_BYTES_MAX, HISTORY_DAYS_MAX, HISTORY_FLUSH_MS, HISTORY_WAITING_MAX } from './limits.js'
import { QueryStatistics, type QueryTally, summed, tallyKey } from './query-statistics.js'

interface QueryHistorySetup {
  /** Is created if it does not exist. */
  readonly folder: string
  /** True if the statistics have hashes instead of queries. Queries on disk are then replaced by their hashes. */
  readonly isHashed: boolean
  readonly log: Pick<FastifyBaseLogger, 'warn'>
  /** Milliseconds since 1970. */
  readonly now?: () => number
  readonly daysMax?: number
  readonly dayBytesMax?: number
}

/**
 * Query statistics of the last days on disk, one file per day. Searches never wait for it: queries are appended once per
 * second, and a failure of the disk is logged and loses only statistics.
 */
export class QueryHistory {
  /** Counts queries, those of earlier runs included once they are loaded. */
  readonly statistics: QueryStatistics
  readonly #setup: Required<QueryHistorySetup>
  #waiting = new Map<string, QueryTally>()
  /** Day of the last write. At the next day the oldest file may have expired. */
  #day: string
  #work: Promise<void>
  #hasFailed = false
  readonly #timer: NodeJS.Timeout

  constructor(setup: QueryHistorySetup) {
    this.#setup = {
      now: Date.now,
      daysMax: HISTORY_DAYS_MAX,
      dayBytesMax: HISTORY_DAY_BYTES_MAX,
      ...setup,
    }
    this.#day = dayOf(this.#setup.now())
    this.statistics = new QueryStatistics((tally) => this.#wait(tally))
    this.#work = this.#safely(async () => {
      await makeDirectory(setup.folder)
      if (setup.isHashed) await this.#hashAll()
      await this.#removeExpired()
      await this.#readAll(this.statistics)
    })
    this.statistics.loaded = this.#work
    this.#timer = setInterval(() => void this.flush(), HISTORY_FLUSH_MS).unref()
  }

  /** Writes what was counted since the last write. */
  flush(): Promise<void> {
    this.#work = this.#work.then(() => this.#safely(() => this.#write()))
    return this.#work
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  #wait(tally: QueryTally): void {
    const key = tallyKey(tally)
    const held = this.#waiting.get(key)
    if (held === undefined && this.#waiting.size >= HISTORY_WAITING_MAX) return
    this.#waiting.set(key, summed(held, tally))
  }

  async #write(): Promise<void> {
    const { now, isHashed, dayBytesMax } = this.#setup
    const day = dayOf(now())
    if (this.#waiting.size > 0) {
      const tallies = [...this.#waiting.values()]
      this.#waiting = new Map()
      const path = this.#path(fileName(day, isHashed))
      const size = await sizeOf(path)
      // Begins with an empty line, in case that the last line of a former process is incomplete.
      const lines = (size === 0 ? startLine(now(), 0) : '\n') + tallies.map(tallyLine).join('')
      if (size + Buffer.byteLength(lines) <= dayBytesMax) await appendFile(path, lines)
      else {
        const statistics = new QueryStatistics()
        await readDay(path, statistics)
        for (const tally of tallies) statistics.include(tally)
        await rewriteDay(path, statistics, dayBytesMax / 2)
      }
    }
    if (day === this.#day) return
    this.#day = day
    if (!(await this.#removeExpired())) return
    const remaining = new QueryStatistics()
    await this.#readAll(remaining)
    // Counted while the files were read, so not in them.
    for (const tally of this.#waiting.values()) remaining.include(tally)
    this.statistics.replaceWith(remaining)
  }

  /** Removes the files of days that are too long ago. Returns true if there were any. */
  async #removeExpired(): Promise<boolean> {
    const { now, daysMax } = this.#setup
    const first = dayOf(now() - (daysMax - 1) * 86_400_000)
    const expired = (await this.#files()).filter(({ day }) => day < first)
    for (const { name } of expired) await rm(this.#path(name), { force: true })
    return expired.length > 0
  }

  async #readAll(statistics: QueryStatistics): Promise<void> {
    for (const { name } of await this.#files()) await readDay(this.#path(name), statistics)
  }

  /** Replaces files with queries by files with their hashes. */
  async #hashAll(): Promise<void> {
    for (const { name, day, isHashed } of await this.#files()) {
      if (isHashed) continue
      const plain = new QueryStatistics()
      await readDay(this.#path(name), plain)
      const hashed = new QueryStatistics()
      const target = this.#path(fileName(day, true))
      await readDay(target, hashed)
      const tallies = plain.inTurn()
      for (const tally of tallies) hashed.include({ ...tally, q: hashedText(tally.q) })
      const kept = tallies.reduce((sum, { count }) => sum + count, 0)
      hashed.includeForgotten(plain.searches - kept, plain.since)
      await rewriteDay(target, hashed, this.#setup.dayBytesMax / 2)
      await rm(this.#path(name))
    }
  }

  async #files(): Promise<
    readonly { readonly name: string; readonly day: string; readonly isHashed: boolean }[]
  > {
    const names = await readdir(this.#setup.folder)
    return names.sort().flatMap((name) => {
      const found = dayOfName(name)
      return found === null ? [] : [{ name, ...found }]
    })
  }

  #path(name: string): string {
    return join(this.#setup.folder, name)
  }

  /** Logs the first of several failures in a row. */
  async #safely(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) this.#setup.log.warn({ err: error }, 'query statistics cannot be kept on disk')
      this.#hasFailed = true
    }
  }
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return 0
      throw error
    },
  )
