import type { IndexId } from '../../index-id.js'
import type { CommitPlace } from '../open-index.js'
import type { EngineWorker } from './engine-worker.js'
import type { Call } from './protocol.js'

/** Milliseconds until a copy is tried again for which files or memory are missing, or after a fault. */
const NOT_READY_MS = 500
const FAULT_MS = 30_000
/** Least milliseconds between two updates of a copy, and greatest part of the time that they take. */
const INTERVAL_MS = 100
const BUSY_PART_MAX = 1 / 4

interface Copy {
  /** Number of the change at which the copy is; null: not usable. */
  change: number | null
  /** Bytes of documents and vectors. */
  bytes: number
  /** Number of the search that used it last. */
  usedAt: number
}

/** A thread that searches in copies of indexes. Started with its first copy. */
export class CopyThread {
  readonly #start: () => EngineWorker
  #worker: EngineWorker | null = null
  /** `ends` of the worker when the copies were made. */
  #ends = 0
  readonly #copies = new Map<IndexId, Copy>()
  readonly #pausedUntil = new Map<IndexId, number>()
  #catchingUp: { readonly index: IndexId; readonly ended: Promise<void> } | null = null
  /** Searches that it has received and not answered, without multi-searches. */
  received = 0

  constructor(start: () => EngineWorker) {
    this.#start = start
  }

  /** Bytes of documents and vectors of all copies. */
  get bytes(): number {
    let bytes = 0
    for (const copy of this.#alive().values()) bytes += copy.bytes
    return bytes
  }

  /** Number of unanswered calls. */
  get pending(): number {
    return this.#worker?.pending ?? 0
  }

  /** The worker; null before its first copy and after its end. */
  get worker(): EngineWorker | null {
    return this.#worker !== null && this.#worker.ends === this.#ends ? this.#worker : null
  }

  /** Returns true if it has a copy of an index as of a change. */
  has(index: IndexId, change: number | null): boolean {
    const copy = this.#alive().get(index)
    return copy !== undefined && change !== null && copy.change === change
  }

  /** Notes the use of copies. @param search number of the search */
  use(indexes: readonly IndexId[], search: number): void {
    for (const index of indexes) {
      const copy = this.#alive().get(index)
      if (copy !== undefined) copy.usedAt = search
    }
  }

  /** @throws ThreadEndedError */
  call(call: Call, args: readonly unknown[]): Promise<unknown> {
    this.#worker ??= this.#start()
    return this.#worker.call(call, args)
  }

  /** Returns true if a copy may be brought up to date now. */
  isReady(index: IndexId): boolean {
    return this.#catchingUp === null && performance.now() >= (this.#pausedUntil.get(index) ?? 0)
  }

  /**
   * Makes a copy of an index or brings it up to date. Never rejects: without a copy, other threads answer.
   * @param search number of the search that needs it
   * @param place of the newest commit; null: there is no memory for a copy
   * @param change number of the newest change when that commit is still the newest; null: it is not
   */
  catchUp(
    index: IndexId,
    search: number,
    place: () => Promise<CommitPlace | null>,
    change: () => number | null,
  ): Promise<void> {
    const began = performance.now()
    const pause = (ms: number): void => void this.#pausedUntil.set(index, performance.now() + ms)
    const run = async (): Promise<void> => {
      try {
        const newest = await place()
        if (newest === null) return pause(NOT_READY_MS)
        const isReady = await this.#copy(index, newest, search)
        const at = isReady ? change() : null
        const copy = this.#alive().get(index)
        if (copy !== undefined) copy.change = at
        pause(isReady ? Math.max(INTERVAL_MS, (performance.now() - began) / BUSY_PART_MAX) : NOT_READY_MS)
      } catch {
        // The end of a thread was logged. Damaged files are reported by the thread that writes them.
        pause(FAULT_MS)
      } finally {
        this.#catchingUp = null
      }
    }
    const ended = run()
    this.#catchingUp = { index, ended }
    return ended
  }

  async #copy(index: IndexId, place: CommitPlace, usedAt: number): Promise<boolean> {
    const copies = this.#alive()
    copies.set(index, { change: null, bytes: place.bytes, usedAt })
    const isReady = (await this.call('catchUp', [index, place])) === true
    if (!isReady) copies.delete(index)
    return isReady
  }

  /** Closes the copy of an index, if any, also one that is being made. */
  async remove(index: IndexId): Promise<void> {
    await this.#catchingUp?.ended
    this.#pausedUntil.delete(index)
    await this.forget(index)
  }

  /** Closes the copy of an index that is not being brought up to date. */
  async forget(index: IndexId): Promise<void> {
    const { worker } = this
    // After the end of a thread there is nothing to close.
    if (this.#alive().delete(index)) await worker?.call('forget', [index]).catch(() => undefined)
  }

  /** The copy that was not used for the longest time and is not being brought up to date; null: none. */
  oldest(): { readonly index: IndexId; readonly usedAt: number } | null {
    let oldest: { readonly index: IndexId; readonly usedAt: number } | null = null
    for (const [index, { usedAt }] of this.#alive())
      if (index !== this.#catchingUp?.index && (oldest === null || usedAt < oldest.usedAt))
        oldest = { index, usedAt }
    return oldest
  }

  async close(): Promise<void> {
    // A thread that ends by itself has nothing left to close.
    await this.#worker?.close().catch(() => undefined)
  }

  /** The copies, unless their thread has ended. */
  #alive(): Map<IndexId, Copy> {
    if (this.#worker !== null && this.#worker.ends !== this.#ends) {
      this.#copies.clear()
      this.#ends = this.#worker.ends
    }
    return this.#copies
  }
}
