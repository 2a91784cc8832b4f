import { randomUUID } from 'node:crypto'
import { RECORD_BYTES_MAX, YIELD_AGAIN_MS, YIELD_BYTES_MAX } from '../object-store/limits.js'
import { BucketError, type ObjectStore } from '../object-store/object-store.js'
import { pauseMs, type Repeating, repeated } from '../object-store/repeating.js'
import { DamagedRecordError, decodeRecord, encodeRecord, type LogRecord } from './log-record.js'
import { readAhead } from './read-ahead.js'
import { RecordCache } from './record-cache.js'

/** Key of a log record. Numbers are padded to twenty digits, so that keys sort by number. */
export const recordKey = (seq: number): string => `log/${padded(seq)}`

/** Key of the checkpoint that covers the log up to a record. */
export const checkpointKey = (seq: number): string => `base/${padded(seq)}`

function decodedAt(seq: number, bytes: Buffer): LogRecord {
  try {
    return decodeRecord(bytes, `log record ${seq}`)
  } catch (error) {
    if (!(error instanceof DamagedRecordError)) throw error
    throw new DamagedRecordError(`log record ${seq} cannot be read: ${error.message}`, { cause: error })
  }
}

/**
 * Key of the yield request to the writer of an epoch: a server that takes over asks it to pause appends. The object
 * holds a new id for each request. Correctness does not depend on it.
 */
export const yieldKey = (epoch: number): string => `yield/${padded(epoch)}`

const padded = (seq: number): string => String(seq).padStart(20, '0')

export interface LogSetup extends Repeating {
  readonly store: ObjectStore
  /** Log records that are read at the same time. Default: `READ_AHEAD`. */
  readonly readAhead?: number
  /** Milliseconds of a monotonic clock. Default: the clock of the process. */
  readonly now?: () => number
}

/** Another writer has taken over the log. Writes that are not acknowledged yet must not be acknowledged. */
export class FencedError extends Error {
  override readonly name = 'FencedError'

  /** @param by the record of another writer at number `seq`, where this writer wanted to append */
  constructor(
    readonly seq: number,
    readonly by: LogRecord,
  ) {
    super(`another server writes to the bucket since log record ${seq}, as epoch ${by.epoch}`)
  }
}

/** A server that stands at the end of the log. */
export interface Claim {
  readonly instanceUid: string
  /** HTTP address for followers; null: it has none. */
  readonly address: string | null
  /** Identity of its data directory. */
  readonly writer: string
  /** Body of its fence. */
  readonly about: Uint8Array
  /** Number of the first log record that it does not have. */
  readonly next: number
}

/** A server that takes over the log. */
export interface Candidate extends Claim {
  /** Called with each record from `next` on, in order. The takeover waits for the result. */
  apply(seq: number, record: LogRecord): Promise<void>
  /** Called if a checkpoint is at or beyond `next`: loads it. @returns number of the first record after it */
  restore(seq: number): Promise<number>
}

/** A log of numbered records in an object store. */
export class Log {
  readonly #setup: LogSetup
  readonly #cache = new RecordCache()

  constructor(setup: LogSetup) {
    this.#setup = setup
  }

  /** Returns a record; null: the log ends before it. @throws BucketError, DamagedRecordError, NewerFormatError */
  async read(seq: number, signal: AbortSignal): Promise<LogRecord | null> {
    const bytes = await repeated(this.#setup, signal, () =>
      this.#setup.store.get(recordKey(seq), { bytesMax: RECORD_BYTES_MAX, signal }),
    )
    return bytes === null ? null : decodedAt(seq, bytes)
  }

  /** Yields the records from `from` to `last` or the end. @throws like `read` */
  records(
    from: number,
    signal: AbortSignal,
    last = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<LogRecord, void> {
    const read = async (seq: number, both: AbortSignal) => {
      const record = this.#cache.get(seq) ?? (await this.read(seq, both))
      if (record !== null) this.#cache.add(seq, record)
      return record
    }
    return readAhead(read, { from, last }, signal, this.#setup.readAhead)
  }

  /**
   * Keeps the records that `records` reads in memory from now on. A server that finds at its start that it was
   * replaced reads the same records again for its copy.
   * @param bytesMax limit of the bytes of all bodies; 0: keeps no records
   */
  cacheRecords(bytesMax: number): void {
    this.#cache.resize(bytesMax)
  }

  /** Returns the last record that each checkpoint covers, ascending. */
  async checkpoints(signal: AbortSignal): Promise<readonly number[]> {
    return repeated(this.#setup, signal, async () => {
      const found: number[] = []
      for await (const { key } of this.#setup.store.list('base/', { signal }))
        if (/^base\/\d{20}$/.test(key)) found.push(Number(key.slice('base/'.length)))
      return found.sort((one, other) => one - other)
    })
  }

  /** Returns the last record that the newest checkpoint covers; null: no checkpoint exists. */
  async newestCheckpoint(signal: AbortSignal): Promise<number | null> {
    return (await this.checkpoints(signal)).at(-1) ?? null
  }

  /**
   * Reads to the end of the log and creates a fence there. Several servers may try at the same time. Each one that
   * succeeds fences the former writer.
   * @throws BucketError if the store refuses; the signal's reason once it aborts
   */
  async takeOver(candidate: Candidate, signal: AbortSignal): Promise<LogWriter> {
    let { next } = candidate
    for (;;) {
      const checkpoint = await this.newestCheckpoint(signal)
      if (checkpoint !== null && checkpoint >= next) next = await candidate.restore(checkpoint)
      const fence = await this.#fence(candidate, next, signal)
      // See `covers`.
      const newest = await this.newestCheckpoint(signal)
      if (newest === null || newest < fence) return new LogWriter(this, candidate, fence, newest)
      next = fence
    }
  }

  /**
   * Creates a fence at the end of the log, if the log still ends before `next`.
   * @returns null: another server has appended meanwhile
   * @throws BucketError if the store refuses; the signal's reason once it aborts
   */
  async stand(claim: Claim, signal: AbortSignal): Promise<LogWriter | null> {
    const { next } = claim
    const { fence, writeId } = fenceRecord(claim, next)
    if ((await this.write(next, fence, writeId, signal)) !== null) return null
    const newest = await this.newestCheckpoint(signal)
    return newest === null || newest < next ? new LogWriter(this, claim, next, newest) : null
  }

  /**
   * Returns true if a checkpoint covers a record. Then a missing record may have been deleted as garbage, and a fence may
   * have been created in its place, by a server that noticed the checkpoint only after that. The fence stays in the log.
   * So a reader that must not miss a record checks the first fence of each round of reading before it uses the round, and
   * goes back to the checkpoint. One check is enough: a checkpoint that covers a later fence covers the first one too.
   * @throws BucketError
   */
  async covers(seq: number, signal: AbortSignal): Promise<boolean> {
    const newest = await this.newestCheckpoint(signal)
    return newest !== null && newest >= seq
  }

  /**
   * Reads to the end and creates the fence there. If the current writer is faster, it is asked to yield.
   * @returns number of the fence; or of a fence of another server that a checkpoint covers, where reading ends
   */
  async #fence(candidate: Candidate, from: number, signal: AbortSignal): Promise<number> {
    const now = this.#setup.now ?? (() => performance.now())
    let askedAt = Number.NEGATIVE_INFINITY
    for (let [seq, lost] = [from, 0]; ; lost++) {
      const { fence, writeId } = fenceRecord(candidate, seq)
      const taken = await this.write(seq, fence, writeId, signal)
      if (taken === null) return seq
      let firstFence = taken.kind === 'fence' ? seq : null
      let { epoch } = taken
      try {
        await candidate.apply(seq++, taken)
        for await (const record of this.records(seq, signal)) {
          if (record.kind === 'fence') firstFence ??= seq
          await candidate.apply(seq++, record)
          ;({ epoch } = record)
        }
      } catch (error) {
        // A misplaced fence may have caused it.
        if (firstFence === null || !(await this.covers(firstFence, signal))) throw error
      }
      if (firstFence !== null && (await this.covers(firstFence, signal))) return firstFence
      if (lost > 0 && now() - askedAt >= YIELD_AGAIN_MS) {
        askedAt = now()
        await this.#askToYield(epoch, signal)
      }
    }
  }

  /** Asks the writer to yield. Ignores errors of the store: the request is only a hint. */
  async #askToYield(epoch: number, signal: AbortSignal): Promise<void> {
    try {
      await repeated(this.#setup, signal, () =>
        this.#setup.store.put(yieldKey(epoch), Buffer.from(randomUUID()), signal),
      )
    } catch (error) {
      if (!(error instanceof BucketError)) throw error
    }
  }

  /** Returns the id of the last yield request to the writer of an epoch; null: none. @throws BucketError */
  async yieldRequest(epoch: number, signal: AbortSignal): Promise<string | null> {
    const bytes = await repeated(this.#setup, signal, () =>
      this.#setup.store.get(yieldKey(epoch), { bytesMax: YIELD_BYTES_MAX, signal }),
    )
    return bytes === null ? null : bytes.toString('latin1')
  }

  /**
   * Creates a record. Retries with the same bytes until the outcome is known.
   * @returns null if the record was written; else the record of another writer at this number
   */
  async write(
    seq: number,
    bytes: Uint8Array,
    writeId: string,
    signal: AbortSignal,
  ): Promise<LogRecord | null> {
    const create = async (): Promise<'created' | 'look'> => {
      try {
        return (await this.#setup.store.create(recordKey(seq), bytes, signal)) === 'created'
          ? 'created'
          : 'look'
      } catch (error) {
        // Without an answer, only reading the record shows the outcome. A busy store is retried by `repeated` first.
        if (error instanceof BucketError && error.kind === 'unanswered') return 'look'
        throw error
      }
    }
    for (let tries = 0; ; tries++) {
      if ((await repeated(this.#setup, signal, create)) === 'created') return null
      // The create may have been refused because an earlier attempt succeeded.
      const found = await this.read(seq, signal)
      if (found !== null) return found.writeId === writeId ? null : found
      await this.#pause(tries, new BucketError(`log record ${seq} was not written`, 'unanswered'), signal)
    }
  }

  async #pause(tries: number, error: BucketError, signal: AbortSignal): Promise<void> {
    const ms = pauseMs(tries)
    this.#setup.onRetry(error, ms)
    await this.#setup.wait(ms, signal)
  }
}

function fenceRecord(claim: Claim, seq: number) {
  const writeId = randomUUID()
  return { writeId, fence: encodeRecord({ ...headOf(claim, 'fence', seq), writeId, body: claim.about }) }
}

const headOf = ({ instanceUid, address, writer }: Claim, kind: LogRecord['kind'], epoch: number) => ({
  ...{ kind, instanceUid, epoch, address, writer },
  writtenAt: Date.now(),
})

/** Appends to a log until another writer takes over. */
export class LogWriter {
  readonly #log: Log
  readonly #candidate: Claim
  readonly epoch: number
  /** The last record that the newest checkpoint covered after the fence was written; null: no checkpoint existed. */
  readonly checkpointAtFence: number | null
  #next: number
  #fenced: FencedError | null = null
  #isAppending = false

  constructor(log: Log, candidate: Claim, fence: number, checkpointAtFence: number | null) {
    this.#log = log
    this.checkpointAtFence = checkpointAtFence
    this.#candidate = candidate
    this.epoch = fence
    this.#next = fence + 1
  }

  /** Number of the record to append next. */
  get next(): number {
    return this.#next
  }

  /** Encodes a record. The caller keeps the bytes until the record is appended. */
  record(body: Uint8Array): { readonly bytes: Buffer; readonly writeId: string } {
    const writeId = randomUUID()
    const head = headOf(this.#candidate, 'changes', this.epoch)
    return { bytes: encodeRecord({ ...head, writeId, body }), writeId }
  }

  /**
   * Appends a record. Only one append may be in progress.
   * @returns the number of the record, once it is durable
   * @throws FencedError if another writer has taken over; all later calls throw it too
   */
  async append(
    { bytes, writeId }: { readonly bytes: Uint8Array; readonly writeId: string },
    signal: AbortSignal,
  ): Promise<number> {
    if (this.#fenced !== null) throw this.#fenced
    if (this.#isAppending) throw new Error('a log record is being appended already')
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
   * Checks for a takeover while nothing is appended.
   * @returns true if the end of the log was reached; false: an append is in progress
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

  /** Returns the id of the last yield request of another server; null: none. @throws BucketError */
  yieldRequest(signal: AbortSignal): Promise<string | null> {
    return this.#log.yieldRequest(this.epoch, signal)
  }

  #fencedBy(seq: number, by: LogRecord): FencedError {
    this.#fenced = new FencedError(seq, by)
    return this.#fenced
  }
}
