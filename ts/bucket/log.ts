import { randomUUID } from 'node:crypto'
import { DamagedEntryError, decodeEntry, type Entry, encodeEntry } from './entry.js'
import { ENTRY_BYTES_MAX, YIELD_AGAIN_MS, YIELD_BYTES_MAX } from './limits.js'
import { BucketError, type ObjectStore } from './object-store.js'
import { readAhead } from './read-ahead.js'
import { pauseMs, type Repeating, repeated } from './repeating.js'

/** Key of an entry. Numbers have twenty digits, so that keys are in their order. */
export const entryKey = (seq: number): string => `log/${padded(seq)}`

/** Key of an image of everything up to an entry. */
export const baseKey = (seq: number): string => `base/${padded(seq)}`

function decodedAt(seq: number, bytes: Buffer): Entry {
  try {
    return decodeEntry(bytes)
  } catch (error) {
    if (!(error instanceof DamagedEntryError)) throw error
    throw new DamagedEntryError(`entry ${seq} of the log cannot be read: ${error.message}`, { cause: error })
  }
}

/**
 * Key of an object by which a server that takes over asks the writer of an epoch to stop appending for a moment. It holds the
 * id of the request, another one each time. Nothing about who may write depends on it.
 */
export const yieldKey = (epoch: number): string => `yield/${padded(epoch)}`

const padded = (seq: number): string => String(seq).padStart(20, '0')

export interface LogSetup extends Repeating {
  readonly store: ObjectStore
  /** Entries that are read at the same time. Absent: `READ_AHEAD`. */
  readonly readAhead?: number
  /** Milliseconds by a monotonic clock. Absent: that of the process. */
  readonly now?: () => number
}

/** Another writer has taken the log over. Nothing that was not acknowledged yet may be. */
export class FencedError extends Error {
  override readonly name = 'FencedError'

  /** @param by the entry that stands where the next one of this writer would have gone */
  constructor(
    readonly seq: number,
    readonly by: Entry,
  ) {
    super(`another server writes to the bucket since entry ${seq}, as epoch ${by.epoch}`)
  }
}

/** Who takes the log over. */
export interface Candidate {
  readonly instanceUid: string
  /** Where followers reach it over HTTP; null: nowhere. */
  readonly address: string | null
  /** Identity of the data directory that it sends. */
  readonly writer: string
  /** Body of its fence. */
  readonly about: Uint8Array
  /** Number of the first entry that it does not know. */
  readonly next: number
  /** Called with each entry that it does not know, in order, before it goes on. */
  apply(seq: number, entry: Entry): Promise<void>
  /** Called if a base is beyond what it knows: it reads that base. @returns number of the first entry behind it */
  restore(seq: number): Promise<number>
}

/** A log of numbered entries in an object store. */
export class Log {
  readonly #setup: LogSetup

  constructor(setup: LogSetup) {
    this.#setup = setup
  }

  /** null: the log ends before. @throws BucketError, DamagedEntryError */
  async read(seq: number, signal: AbortSignal): Promise<Entry | null> {
    const bytes = await repeated(this.#setup, signal, () =>
      this.#setup.store.get(entryKey(seq), { bytesMax: ENTRY_BYTES_MAX, signal }),
    )
    return bytes === null ? null : decodedAt(seq, bytes)
  }

  /** The entries from `from` to the end. @throws BucketError, DamagedEntryError */
  entries(from: number, signal: AbortSignal): AsyncGenerator<Entry, void> {
    return readAhead((seq, both) => this.read(seq, both), from, signal, this.#setup.readAhead)
  }

  /** The last entry that each base covers, ascending. */
  async bases(signal: AbortSignal): Promise<readonly number[]> {
    return repeated(this.#setup, signal, async () => {
      const found: number[] = []
      for await (const { key } of this.#setup.store.list('base/', { signal }))
        if (/^base\/\d{20}$/.test(key)) found.push(Number(key.slice('base/'.length)))
      return found.sort((one, other) => one - other)
    })
  }

  /** The last entry that the newest base covers; null: there is no base. */
  async newestBase(signal: AbortSignal): Promise<number | null> {
    return (await this.bases(signal)).at(-1) ?? null
  }

  /**
   * Reads to the end of the log and takes the next entry with a fence. Any number of servers may try at the same time;
   * each that succeeds fences those before it.
   * @throws BucketError if the store refuses; the signal's reason once it aborts
   */
  async takeOver(candidate: Candidate, signal: AbortSignal): Promise<LogWriter> {
    let { next } = candidate
    for (;;) {
      const base = await this.newestBase(signal)
      if (base !== null && base >= next) next = await candidate.restore(base)
      const fence = await this.#fence(candidate, next, signal)
      // A base at or beyond the fence means that the entries before it may have been collected as garbage, and that the
      // place of the fence was free because it had been one of them.
      const newest = await this.newestBase(signal)
      if (newest === null || newest < fence) return new LogWriter(this, candidate, fence)
      next = fence
    }
  }

  /**
   * Reads on to the end and creates the fence there. The writer may be faster: then it is asked to yield.
   * @returns number of the fence
   */
  async #fence(candidate: Candidate, from: number, signal: AbortSignal): Promise<number> {
    const now = this.#setup.now ?? (() => performance.now())
    let askedAt = Number.NEGATIVE_INFINITY
    for (let [seq, lost] = [from, 0]; ; lost++) {
      const writeId = randomUUID()
      const fence = encodeEntry({
        ...headOf(candidate, 'fence', seq),
        ...{ writeId, body: candidate.about },
      })
      const taken = await this.write(seq, fence, writeId, signal)
      if (taken === null) return seq
      await candidate.apply(seq++, taken)
      let { epoch } = taken
      for await (const entry of this.entries(seq, signal)) {
        await candidate.apply(seq++, entry)
        ;({ epoch } = entry)
      }
      if (lost > 0 && now() - askedAt >= YIELD_AGAIN_MS) {
        askedAt = now()
        await this.#askToYield(epoch, signal)
      }
    }
  }

  /** A store that does not take the request leaves the race as it is. */
  async #askToYield(epoch: number, signal: AbortSignal): Promise<void> {
    try {
      await repeated(this.#setup, signal, () =>
        this.#setup.store.put(yieldKey(epoch), Buffer.from(randomUUID()), signal),
      )
    } catch (error) {
      if (!(error instanceof BucketError)) throw error
    }
  }

  /** Id of the last request to the writer of an epoch to yield; null without one. @throws BucketError */
  async yieldAsked(epoch: number, signal: AbortSignal): Promise<string | null> {
    const bytes = await repeated(this.#setup, signal, () =>
      this.#setup.store.get(yieldKey(epoch), { bytesMax: YIELD_BYTES_MAX, signal }),
    )
    return bytes === null ? null : bytes.toString('latin1')
  }

  /**
   * Creates an entry, as often as it takes to know what became of it. The same bytes are sent each time.
   * @returns null if it stands there; else what stands there instead
   */
  async write(seq: number, bytes: Uint8Array, writeId: string, signal: AbortSignal): Promise<Entry | null> {
    const create = async (): Promise<'created' | 'look'> => {
      try {
        return (await this.#setup.store.create(entryKey(seq), bytes, signal)) === 'created'
          ? 'created'
          : 'look'
      } catch (error) {
        // A store that is too busy is asked again first: only what stands there shows what it did.
        if (error instanceof BucketError && error.kind === 'unanswered') return 'look'
        throw error
      }
    }
    for (let tries = 0; ; tries++) {
      if ((await repeated(this.#setup, signal, create)) === 'created') return null
      // A create that met its own earlier try is refused as well.
      const found = await this.read(seq, signal)
      if (found !== null) return found.writeId === writeId ? null : found
      await this.#pause(tries, new BucketError(`entry ${seq} was not written`, 'unanswered'), signal)
    }
  }

  async #pause(tries: number, error: BucketError, signal: AbortSignal): Promise<void> {
    const ms = pauseMs(tries)
    this.#setup.onRetry(error, ms)
    await this.#setup.wait(ms, signal)
  }
}

const headOf = ({ instanceUid, address, writer }: Candidate, kind: Entry['kind'], epoch: number) => ({
  ...{ kind, instanceUid, epoch, address, writer },
  writtenAt: Date.now(),
})

/** The one that may append to a log, until another takes it over. */
export class LogWriter {
  readonly #log: Log
  readonly #candidate: Candidate
  readonly epoch: number
  #next: number
  #fenced: FencedError | null = null
  #isAppending = false

  constructor(log: Log, candidate: Candidate, fence: number) {
    this.#log = log
    this.#candidate = candidate
    this.epoch = fence
    this.#next = fence + 1
  }

  /** Number of the entry that it will append next. */
  get next(): number {
    return this.#next
  }

  /** The bytes of an entry, which the caller keeps until it is appended. */
  entry(body: Uint8Array): { readonly bytes: Buffer; readonly writeId: string } {
    const writeId = randomUUID()
    const head = headOf(this.#candidate, 'changes', this.epoch)
    return { bytes: encodeEntry({ ...head, writeId, body }), writeId }
  }

  /**
   * Appends an entry; one at a time.
   * @returns its number, once it is in the store for ever
   * @throws FencedError if another writer has taken over: then and ever after
   */
  async append(
    { bytes, writeId }: { readonly bytes: Uint8Array; readonly writeId: string },
    signal: AbortSignal,
  ): Promise<number> {
    if (this.#fenced !== null) throw this.#fenced
    if (this.#isAppending) throw new Error('an entry is being appended already')
    this.#isAppending = true
    try {
      const seq = this.#next
      const other = await this.#log.write(seq, bytes, writeId, signal)
      if (other !== null) throw this.#fencedBy(seq, other)
      this.#next = seq + 1
      return seq
    } finally {
      this.#isAppending = false
    }
  }

  /**
   * Looks whether another writer has taken over, for times in which nothing is appended.
   * @returns whether the end of the log was met; false: an entry is being appended
   * @throws FencedError
   */
  async look(signal: AbortSignal): Promise<boolean> {
    if (this.#fenced !== null) throw this.#fenced
    if (this.#isAppending) return false
    const seq = this.#next
    const other = await this.#log.read(seq, signal)
    const isIdle = seq === this.#next && !this.#isAppending
    if (other !== null && isIdle) throw this.#fencedBy(seq, other)
    return isIdle
  }

  /** Id of the last request of another server to yield; null without one. @throws BucketError */
  yieldAsked(signal: AbortSignal): Promise<string | null> {
    return this.#log.yieldAsked(this.epoch, signal)
  }

  #fencedBy(seq: number, by: Entry): FencedError {
    this.#fenced = new FencedError(seq, by)
    return this.#fenced
  }
}
