import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  DamagedPartError,
  type Entry,
  fetchFiles,
  type IndexFiles,
  keepOnly,
  type Log,
  type ObjectStore,
  type Repeating,
  removeFiles,
  repeatingStore,
  syncNames,
} from '../bucket/index.js'
import { indexesPath, mergedChanges, type RowChanges } from '../tasks/index.js'
import { decodeBody, type Reached } from './body.js'
import { type Fence, fenceOf } from './fence.js'
import { ROUND_BYTES } from './limits.js'
import type { LogState } from './log-state.js'
import { PartReader } from './part-reader.js'
import type { Position } from './position.js'
import { isBeyond, type Until } from './until.js'

/** Where a copy comes from, and which directory becomes one. */
export interface CopySetup {
  readonly log: Log
  readonly store: ObjectStore
  readonly repeating: Repeating
  /** The data directory: an empty one, or an earlier copy that no process serves. */
  readonly directory: string
  /** The last moment to copy; null: the end of the log. */
  readonly until: Until | null
  /** Told of bytes of indexes that were fetched, of those that are missing. */
  readonly progress: (finished: number, total: number) => void
  /** A data directory whose files of indexes are copied from this disk where the log has the same; null or absent: none. */
  readonly seed?: string | null
  /** Called when the task store of the copy is damaged, or of another log, and is fetched again. */
  readonly onDamaged?: (error: Error) => void
}

/** What is told of news, in this order: files of an index lie there, rows changed, an index is gone. */
export interface CopyTarget {
  adopt(id: string): Promise<void>
  apply(changes: RowChanges, position: number): Promise<void>
  drop(id: string): Promise<void>
}

/** The log goes on behind a base, and the entries before it are gone: the copy has to be opened again. */
export class PassedOverError extends Error {
  override readonly name = 'PassedOverError'
}

/** What a directory has of the log when a copy of it is opened. */
interface Beginning {
  readonly state: LogState
  /** Id of an index → what its directory holds. */
  readonly there: Map<string, IndexFiles>
  readonly position: number
  readonly fence: Fence | null
  /** The checkpoint that the state was read from, and the log behind it; null: all of the log. */
  readonly base: number | null
  /** Whether an engine has the directory open. If not, files that the log does not tell of are removed. */
  readonly isOpen: boolean
}

/**
 * A data directory that becomes what a log tells, entry by entry. Files of indexes are there before the rows that name
 * their commits, so that a task has succeeded only where its documents are found.
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
  readonly #there: Map<string, IndexFiles>
  /** Rows that the target was not told of. */
  #rows: RowChanges[] = []
  #read: number
  /** The last entry that was read and does not leave a state open. */
  #closed: number
  #position: number
  #fence: Fence | null
  /** The last fence of the state that the target has; null: it is not known. */
  #settledFence: Fence | null = null
  /** The last transaction that the target has. */
  #reached: Reached | null = null
  /** Whether the directories of indexes are those of the position: at the beginning the rows may be ahead of them. */
  #hasFiles = false

  constructor(setup: CopySetup, { state, there, position, fence, base, isOpen }: Beginning) {
    this.#setup = setup
    this.#store = repeatingStore(setup.store, setup.repeating)
    this.#parts = new PartReader(setup.log, this.#store)
    this.state = state
    this.base = base
    this.#isOpen = isOpen
    this.#there = there
    this.#read = position
    this.#closed = position
    this.#position = position
    this.#fence = fence
  }

  /** The last entry that the target has; -1: none. */
  get position(): number {
    return this.#position
  }

  /** Number of the entry to read next. */
  get next(): number {
    return this.#read + 1
  }

  /** The last fence up to what was read; null without one. */
  get fence(): Fence | null {
    return this.#fence
  }

  /**
   * Whether the target has the changes of a transaction. A copy that has not met the fence of their writer lacks them. If
   * another directory has taken over from it since, and the target is that far, it has what will ever be there of them.
   */
  hasReached({ outbox, last, epoch }: Position): boolean {
    const fence = this.#settledFence
    if (fence === null || fence.seq < (epoch ?? 0)) return false
    if (this.#reached !== null && this.#reached.outbox === outbox && this.#reached.last >= last) return true
    return fence.writer !== outbox && (epoch === null || fence.seq > epoch)
  }

  /** Takes the next entry, of which the target is told by `settle`. @throws DamagedBodyError */
  take(seq: number, entry: Entry): void {
    if (entry.kind === 'fence') {
      this.#fence = fenceOf(seq, entry)
      this.state.fenced()
    } else {
      const body = decodeBody(seq, entry.body)
      this.#parts.remember(seq, body.inline)
      const rows = this.state.take(seq, body)
      if (rows !== null) this.#rows.push(rows)
    }
    this.#read = seq
    if (!this.state.isOpen) this.#closed = seq
  }

  /**
   * Takes the entries that follow, a bounded part of them.
   * @returns whether these were all
   * @throws BucketError, DamagedEntryError, DamagedBodyError, DamagedPartError
   */
  async advance(target: CopyTarget, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const isEnd = await this.#takeRound(signal)
      try {
        await this.settle(target, signal)
        return isEnd
      } catch (error) {
        // A part may be gone because a later entry needs it no more.
        if (isEnd || !(error instanceof DamagedPartError)) throw error
      }
    }
  }

  /** Takes entries until there are no more, or so many that the target is told. @returns whether there are no more */
  async #takeRound(signal: AbortSignal): Promise<boolean> {
    const { log, until } = this.#setup
    let bytes = 0
    for await (const entry of log.entries(this.next, signal)) {
      if (isBeyond(until, this.next, entry)) return true
      this.take(this.next, entry)
      bytes += entry.body.length
      // Rows of an image are not shown before the files that they name.
      if (bytes >= ROUND_BYTES && this.state.hasImage) return false
    }
    return true
  }

  /** Tells the target of what was taken, as far as it is a whole state. @throws BucketError, DamagedPartError */
  async settle(target: CopyTarget, signal: AbortSignal): Promise<void> {
    if (this.#hasFiles && this.#closed === this.#position) return
    const { state } = this
    const wanted = state.ids().map((id) => [id, state.files.of(id)] as const)
    const changed = wanted.filter(([id, files]) => !areSame(this.#there.get(id), files))
    const isNew = changed.some(([id]) => !this.#there.has(id))
    const missing = new Missing(changed, this.#there)
    const { progress, directory } = this.#setup
    for (const [id, files] of changed) {
      const there = this.#there.get(id) ?? new Map()
      await fetchFiles(
        { there, files },
        join(indexesPath(directory), id),
        this.#parts.reading(signal),
        (bytes) => progress(...missing.fetched(bytes)),
      )
      await target.adopt(id)
      await removeFiles(join(indexesPath(directory), id), there, files)
      this.#there.set(id, files)
    }
    if (isNew) await syncNames(indexesPath(directory))
    const rows = this.#rows
    await target.apply(rows.length === 0 ? {} : mergedChanges(rows), this.#closed)
    this.#rows = []
    this.#position = this.#closed
    // Behind a fence no state is open that began before it.
    this.#settledFence = this.#fence
    this.#reached = this.state.reached
    if (!this.#hasFiles && !this.#isOpen) await this.#tidy(wanted)
    this.#hasFiles = true
    for (const id of [...this.#there.keys()])
      if (!wanted.some(([one]) => one === id)) {
        await target.drop(id)
        this.#there.delete(id)
      }
  }

  /** Removes what a copy that was cut short, or a server that wrote here, has left of indexes. */
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

/** Bytes of files that are fetched together. */
class Missing {
  #finished = 0
  readonly #total: number

  constructor(changed: readonly (readonly [string, IndexFiles])[], there: ReadonlyMap<string, IndexFiles>) {
    this.#total = changed.reduce(
      (sum, [id, files]) => sum + bytesIn(files) - bytesIn(there.get(id) ?? new Map()),
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

const areSame = (there: IndexFiles | undefined, files: IndexFiles): boolean =>
  there === files ||
  (there !== undefined &&
    there.size === files.size &&
    [...files].every(([name, parts]) => {
      const known = there.get(name)
      return (
        known?.length === parts.length &&
        known.every(({ crc, from }, at) => parts[at]?.crc === crc && parts[at]?.from === from)
      )
    }))
