import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../../engine/index.js'
import { indexesPath, mergedChanges, type RowChanges } from '../../tasks/index.js'
import { ROUND_BYTES } from '../limits.js'
import { decodeBody, type Reached } from '../log/body.js'
import { type Fence, fenceOf } from '../log/fence.js'
import { NewerFormatError } from '../log/format.js'
import type { LogState } from '../log/log-state.js'
import type { Position } from '../log/position.js'
import { isBeyond, type Until } from '../log/until.js'
import {
  DamagedPartError,
  fetchFiles,
  type IndexFiles,
  keepOnly,
  type Log,
  type LogRecord,
  type ObjectStore,
  type Repeating,
  removeFiles,
  repeatingStore,
} from '../object-store/index.js'
import { PartReader } from './part-reader.js'
import type { OpenCopiedStore } from './replica.js'
import { rememberVerified } from './verified-files.js'

/** Source and target of a copy. */
export interface CopySetup {
  readonly log: Log
  readonly store: ObjectStore
  readonly repeating: Repeating
  /** The target data directory: empty, or an earlier copy that no process serves. */
  readonly directory: string
  /** The point in the log to copy up to; null: its end. */
  readonly until: Until | null
  /** Called with the bytes of index files that were fetched, and the total to fetch. */
  readonly progress: (finished: number, total: number) => void
  /** A local data directory whose index files are reused where the log has the same; null or absent: none. */
  readonly seed?: string | null
  /** Called when the task store of the copy is damaged or belongs to another log. It is fetched again then. */
  readonly onDamaged?: (error: Error) => void
  /** Opens the task store of the copy; absent: `Replica.open`. The simulation has stores in memory. */
  readonly openStore?: OpenCopiedStore
}

/** Receives changes, in this order: new index files are on disk, rows changed, an index was deleted. */
export interface CopyTarget {
  adopt(id: string): Promise<void>
  apply(changes: RowChanges, position: number): Promise<void>
  drop(id: string): Promise<void>
}

/** The next records are gone because a checkpoint covers them. The copy must be reopened from the checkpoint. */
export class LogTruncatedError extends Error {
  override readonly name = 'LogTruncatedError'
}

/** State of a directory when a copy is opened. */
interface Beginning {
  readonly state: LogState
  /** Id of an index → what its directory holds. */
  readonly present: Map<string, IndexFiles>
  readonly position: number
  readonly fence: Fence | null
  /** The checkpoint that the state was read from; null: the state was read from the start of the log. */
  readonly base: number | null
  /** True if an engine has the directory open. Otherwise files that the log does not mention are removed. */
  readonly isOpen: boolean
}

/**
 * Applies a log to a data directory, record by record. Index files are written before the rows that name their commits,
 * so a task never shows as succeeded before its documents are found.
 */
export class InstanceCopy {
  readonly state: LogState
  /** See `Beginning`. */
  readonly base: number | null
  readonly #isOpen: boolean
  readonly #setup: CopySetup
  readonly #store: Pick<ObjectStore, 'put' | 'get'>
  readonly #parts: PartReader
  /** Id of an index → what its directory holds. */
  readonly #present: Map<string, IndexFiles>
  /** Rows that were not applied to the target yet. */
  #rows: RowChanges[] = []
  #read: number
  /** The last record read that completes a state. */
  #closed: number
  #position: number
  #fence: Fence | null
  /** The first fence read that was not checked yet. Nothing that follows it is applied before. */
  #uncheckedFence: number | null = null
  #handedTo: string | null = null
  /** The last fence of the state that the target has; null: not known. */
  #settledFence: Fence | null = null
  /** The last transaction that the target has. */
  #reached: Reached | null = null
  /** True if the index files match the position. At the beginning the rows may be ahead of the files. */
  #hasFiles = false
  /** True if index files have changed since `remember`. */
  #isForgotten = true

  constructor(setup: CopySetup, { state, present, position, fence, base, isOpen }: Beginning) {
    this.#setup = setup
    this.#store = repeatingStore(setup.store, setup.repeating)
    this.#parts = new PartReader(setup.log, this.#store)
    this.state = state
    this.base = base
    this.#isOpen = isOpen
    this.#present = present
    this.#read = position
    this.#closed = position
    this.#position = position
    this.#fence = fence
  }

  /** The last log record that the target has; -1: none. */
  get position(): number {
    return this.#position
  }

  /** Number of the log record to read next. */
  get next(): number {
    return this.#read + 1
  }

  /** The last fence read; null: none. */
  get fence(): Fence | null {
    return this.#fence
  }

  /** Identity of the directory that the last record read names as successor of the leader; null: it names none. */
  get handedTo(): string | null {
    return this.#handedTo
  }

  /**
   * Returns true if the target has the changes of a transaction. A copy that has not reached the fence of their writer
   * lacks them. If the target has reached the fence of a later writer, it has all changes of the former writer that
   * exist.
   */
  hasReached({ outbox, last, epoch }: Position): boolean {
    const fence = this.#settledFence
    if (fence === null || fence.seq < (epoch ?? 0)) return false
    if (this.#reached !== null && this.#reached.outbox === outbox && this.#reached.last >= last) return true
    return fence.writer !== outbox && (epoch === null || fence.seq > epoch)
  }

  /** Reads the next log record. `settle` applies it to the target. @throws DamagedBodyError */
  take(seq: number, record: LogRecord): void {
    this.#handedTo = null
    if (record.kind === 'fence') {
      this.#fence = fenceOf(seq, record)
      this.state.fenced()
    } else {
      const body = decodeBody(seq, record.body)
      this.#parts.remember(seq, body.inline)
      const rows = this.state.take(seq, body)
      this.#handedTo = body.handover ?? null
      if (rows !== null) this.#rows.push(rows)
    }
    this.#read = seq
    if (!this.state.isOpen) this.#closed = seq
  }

  /**
   * Applies a bounded number of the records that follow.
   * @param last nothing after this record is read, so that no call is needed to find the end
   * @returns true if the end of the log was reached, or `last`
   * @throws BucketError, DamagedRecordError, DamagedBodyError, DamagedPartError
   * @throws LogTruncatedError if the next records may have been deleted as garbage
   * @throws NewerFormatError once everything before the record that cannot be read was applied
   */
  async advance(target: CopyTarget, signal: AbortSignal, last = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (;;) {
      const end = await this.#takeRound(signal, last)
      try {
        await this.settle(target, signal)
      } catch (error) {
        // A part may be gone because later records no longer need it.
        if (end === false && error instanceof DamagedPartError) continue
        throw error
      }
      if (end instanceof NewerFormatError) throw end
      return end
    }
  }

  /**
   * Reads records up to the end, `last` or `ROUND_BYTES`, and checks that no fence is in the place of another record.
   * @returns true if the end or `last` was reached; an error for a record that only a newer version reads
   */
  async #takeRound(signal: AbortSignal, last: number): Promise<boolean | NewerFormatError> {
    try {
      return await this.#readRound(signal, last)
    } finally {
      // Also after an error, which a misplaced fence may have caused.
      await this.#checkFence(signal)
    }
  }

  /** @throws LogTruncatedError if a fence may be in the place of another record; see `Log.covers` */
  async #checkFence(signal: AbortSignal): Promise<void> {
    const fence = this.#uncheckedFence
    if (fence === null) return
    if (await this.#setup.log.covers(fence, signal))
      throw new LogTruncatedError(`the log record ${fence} may be in the place of another one`)
    this.#uncheckedFence = null
  }

  async #readRound(signal: AbortSignal, last: number): Promise<boolean | NewerFormatError> {
    const { log, until } = this.#setup
    let bytes = 0
    try {
      for await (const record of log.records(this.next, signal, last)) {
        if (isBeyond(until, this.next, record)) return true
        // A moment in the past is restored from an older checkpoint, behind which no records are deleted.
        if (until === null && record.kind === 'fence') this.#uncheckedFence ??= this.next
        this.take(this.next, record)
        bytes += record.body.length
        // Rows of an image must not become visible before the files that they name.
        if (bytes >= ROUND_BYTES && this.state.hasImage) return false
      }
    } catch (error) {
      // The image of a checkpoint is not consistent without the records that follow it.
      if (error instanceof NewerFormatError && this.state.hasImage) return error
      throw error
    }
    return true
  }

  /**
   * Applies the records read so far to the target, up to the last complete state.
   * @throws BucketError, DamagedPartError
   */
  async settle(target: CopyTarget, signal: AbortSignal): Promise<void> {
    if (this.#hasFiles && this.#closed === this.#position) return
    const { state } = this
    this.#isForgotten = true
    const wanted = state.ids().map((id) => [id, state.files.of(id)] as const)
    const changed = wanted.filter(([id, files]) => !areSame(this.#present.get(id), files))
    const isNew = changed.some(([id]) => !this.#present.has(id))
    const progressOf = new FetchProgress(changed, this.#present)
    const { progress, directory } = this.#setup
    for (const [id, files] of changed) {
      const present = this.#present.get(id) ?? new Map()
      await fetchFiles(
        { present, files },
        join(indexesPath(directory), id),
        this.#parts.reading(signal),
        (bytes) => progress(...progressOf.fetched(bytes)),
      )
      // An index that was damaged before it was sent has no files.
      if (files.size > 0) await target.adopt(id)
      await removeFiles(join(indexesPath(directory), id), present, files)
      this.#present.set(id, files)
    }
    if (isNew) await syncDirectory(indexesPath(directory))
    const rows = this.#rows
    await target.apply(rows.length === 0 ? {} : mergedChanges(rows), this.#closed)
    this.#rows = []
    this.#position = this.#closed
    // A fence discards incomplete states before it.
    this.#settledFence = this.#fence
    this.#reached = this.state.reached
    if (!this.#hasFiles && !this.#isOpen) await this.#tidy(wanted)
    this.#hasFiles = true
    for (const id of [...this.#present.keys()])
      if (!wanted.some(([one]) => one === id)) {
        await target.drop(id)
        this.#present.delete(id)
      }
  }

  /**
   * Stores which index files are verified, so that the next opening need not read them. Call it while nothing is applied.
   * If it fails, the next opening reads them.
   */
  async remember(): Promise<void> {
    if (!this.#isForgotten || !this.#hasFiles) return
    this.#isForgotten = false
    await rememberVerified(this.#setup.directory, this.#present).catch(() => undefined)
  }

  /** Removes index files of an interrupted copy, or of a server that was the writer in this directory. */
  async #tidy(wanted: readonly (readonly [id: string, files: IndexFiles])[]): Promise<void> {
    const indexes = indexesPath(this.#setup.directory)
    const ids = new Map(wanted)
    for (const name of await readdir(indexes).catch(() => [])) {
      const files = ids.get(name)
      if (files === undefined) await rm(join(indexes, name), { recursive: true, force: true })
      else await keepOnly(join(indexes, name), files)
    }
  }
}

/** Counts the fetched bytes of all files of a round. */
class FetchProgress {
  #finished = 0
  readonly #total: number

  constructor(changed: readonly (readonly [string, IndexFiles])[], present: ReadonlyMap<string, IndexFiles>) {
    this.#total = changed.reduce(
      (sum, [id, files]) => sum + bytesIn(files) - bytesIn(present.get(id) ?? new Map()),
      0,
    )
  }

  fetched(bytes: number): [finished: number, total: number] {
    this.#finished += bytes
    return [this.#finished, Math.max(this.#total, this.#finished)]
  }
}

const bytesIn = (files: IndexFiles): number =>
  [...files.values()].flat().reduce((sum, { bytes }) => sum + bytes, 0)

const areSame = (present: IndexFiles | undefined, files: IndexFiles): boolean =>
  present === files ||
  (present !== undefined &&
    present.size === files.size &&
    [...files].every(([name, parts]) => {
      const known = present.get(name)
      return (
        known?.length === parts.length &&
        known.every(({ crc, from }, at) => parts[at]?.crc === crc && parts[at]?.from === from)
      )
    }))
