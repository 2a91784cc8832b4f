import type { CacheFigures } from '../../engine.js'
import { EngineError } from '../../engine-error.js'
import type { IndexId } from '../../index-id.js'
import type { CommitPlace } from '../open-index.js'
import { Changes } from './changes.js'
import { CopyThread } from './copy-thread.js'
import { type EngineWorker, ThreadEndedError } from './engine-worker.js'
import type { Call } from './protocol.js'

/** Searches that a thread has received: one that runs, and one so that it need not wait for the next. */
const RECEIVED_MAX = 2
/** A copy that one of so many last searches used is not closed for another. */
const USED_SEARCHES = 1000

/** A search, or another call that only reads the newest commits of indexes. */
interface Search {
  readonly call: Call
  /** The indexes that it reads; null: only the writing thread can answer it. */
  readonly indexes: readonly IndexId[] | null
  readonly args: readonly unknown[]
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The thread that writes the indexes. It can answer every search. */
class WritingThread {
  readonly worker: EngineWorker
  received = 0

  constructor(worker: EngineWorker) {
    this.worker = worker
  }

  /** Number of unanswered calls. */
  get pending(): number {
    return this.worker.pending
  }

  /** @throws ThreadEndedError */
  call(call: Call, args: readonly unknown[]): Promise<unknown> {
    return this.worker.call(call, args)
  }
}

interface SearchThreadsSetup {
  /** The worker that writes the indexes. */
  readonly writer: EngineWorker
  /** Further threads that may search. */
  readonly copies: number
  /** Starts such a thread. */
  readonly start: () => EngineWorker
  /** Bytes of documents and vectors of all copies together. */
  readonly copiedBytesMax: number
}

/**
 * Distributes searches over the thread that writes the indexes and over threads with copies of them.
 *
 * 1. A search waits here until a thread is free, so that it is not stuck behind a long search in another thread. A
 *    multi-search does not wait and occupies no thread: other searches run between its queries.
 * 2. A copy is made when searches of the index wait for each other, and brought up to date when they do again: without
 *    concurrent searches, copies take neither memory nor time.
 * 3. A search that fails in a copy is repeated by the writing thread, unless the request is wrong. Most likely the copies
 *    needed too much memory.
 * 4. From the start of a commit on, only the writing thread answers searches of the index, until a copy is at the newest
 *    commit. So a commit does not wait for copies, and no search sees an older commit than an earlier search.
 */
export class SearchThreads {
  readonly #writer: WritingThread
  readonly #copies: readonly CopyThread[]
  readonly #copiedBytesMax: number
  readonly #changes = new Changes()
  readonly #waiting: Search[] = []
  /** Number of searches so far. */
  #searches = 0
  #isClosing = false

  constructor({ writer, copies, start, copiedBytesMax }: SearchThreadsSetup) {
    this.#writer = new WritingThread(writer)
    this.#copies = Array.from({ length: copies }, () => new CopyThread(start))
    this.#copiedBytesMax = copiedBytesMax
  }

  /** Runs a search in one of the threads. @param indexes see `Search` */
  run(call: Call, indexes: Search['indexes'], args: readonly unknown[]): Promise<unknown> {
    if (this.#isClosing) return Promise.reject(new ThreadEndedError('the engine is closed'))
    this.#searches += 1
    return new Promise((resolve, reject) => {
      const search: Search = { call, indexes, args, resolve, reject }
      if (call === 'multiSearch') return this.#sendMulti(search)
      this.#waiting.push(search)
      this.#distribute()
    })
  }

  /** Runs a call that may change the newest commit of an index. */
  async changing<T>(index: IndexId, change: () => Promise<T>): Promise<T> {
    try {
      return await this.#changes.during(index, change)
    } finally {
      this.#distribute()
    }
  }

  /** Runs a call that removes an index, after its copies are closed. */
  async removing(index: IndexId, remove: () => Promise<void>): Promise<void> {
    await this.#changes.during(index, async () => {
      await Promise.all(this.#copies.map((copy) => copy.remove(index)))
      await remove()
    })
    this.#changes.forget(index)
  }

  /** Statistics of the caches of all threads together. */
  async cacheFigures(): Promise<CacheFigures> {
    const workers = [this.#writer.worker, ...this.#copies.flatMap(({ worker }) => worker ?? [])]
    const figures = await Promise.all(
      workers.map((worker) => worker.call('cacheFigures', []) as Promise<CacheFigures>),
    )
    const [own] = figures as [CacheFigures, ...CacheFigures[]]
    const sum = (value: (one: CacheFigures) => number): number =>
      figures.reduce((total, one) => total + value(one), 0)
    return {
      bytesMax: own.bytesMax * (1 + this.#copies.length),
      kinds: own.kinds.map(({ kind }, at) => ({
        kind,
        hits: sum(({ kinds }) => kinds[at]?.hits ?? 0),
        misses: sum(({ kinds }) => kinds[at]?.misses ?? 0),
        entries: sum(({ kinds }) => kinds[at]?.entries ?? 0),
        bytes: sum(({ kinds }) => kinds[at]?.bytes ?? 0),
      })),
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    for (const { reject } of this.#waiting.splice(0)) reject(new ThreadEndedError('the engine is closed'))
    await Promise.all(this.#copies.map((copy) => copy.close()))
    await this.#writer.worker.close()
  }

  #distribute(): void {
    // The writing thread is last while it has other work, which makes its searches slower.
    const isWriting = this.#writer.pending > this.#writer.received
    const threads = isWriting ? [...this.#copies, this.#writer] : [this.#writer, ...this.#copies]
    let isContended = false
    for (let received = 0; received < RECEIVED_MAX; received++)
      for (const thread of threads)
        if (thread.received === received) {
          const search = this.#take(thread)
          if (search === null) continue
          if (received > 0) isContended = this.#makeCopies(search) || isContended
          this.#send(thread, search)
        }
    const [first] = this.#waiting
    if (first !== undefined && !isContended) this.#makeCopies(first)
  }

  /** Takes the first waiting search that a thread can answer; null: none. */
  #take(thread: WritingThread | CopyThread): Search | null {
    const at = this.#waiting.findIndex(({ indexes }) => this.#canAnswer(thread, indexes))
    return at === -1 ? null : this.#waiting.splice(at, 1)[0]!
  }

  #canAnswer(thread: WritingThread | CopyThread, indexes: Search['indexes']): boolean {
    if (thread instanceof WritingThread) return true
    return indexes?.every((index) => thread.has(index, this.#changes.newest(index))) === true
  }

  /** Sends a multi-search to the least busy thread that can answer it. */
  #sendMulti(search: Search): void {
    const able = this.#copies.filter((thread) => this.#canAnswer(thread, search.indexes))
    const thread = [this.#writer, ...able].reduce((a, b) => (b.pending < a.pending ? b : a))
    if (thread.pending > 0) this.#makeCopies(search)
    this.#send(thread, search, 0)
  }

  /** @param weight the part of a thread that the search occupies, 0 or 1 */
  #send(thread: WritingThread | CopyThread, search: Search, weight = 1): void {
    thread.received += weight
    if (thread instanceof CopyThread) thread.use(search.indexes ?? [], this.#searches)
    const done = (): void => {
      thread.received -= weight
      this.#distribute()
    }
    thread.call(search.call, search.args).then(
      (value) => {
        search.resolve(value)
        done()
      },
      (error) => {
        if (thread instanceof CopyThread && !this.#isClosing && !isMistake(error))
          this.#waiting.unshift({ ...search, indexes: null })
        else search.reject(error)
        done()
      },
    )
  }

  /** Lets idle threads make or update the copies that a search needs. Returns true if any does. */
  #makeCopies({ indexes }: Search): boolean {
    if (indexes === null || this.#isClosing) return false
    let isMaking = false
    for (const thread of this.#copies) {
      if (thread.received > 0) continue
      const missing = indexes.find((index) => !thread.has(index, this.#changes.newest(index)))
      const change = missing === undefined ? null : this.#changes.newest(missing)
      if (missing === undefined || change === null || !thread.isReady(missing)) continue
      isMaking = true
      const place = () => this.#placeFor(missing)
      const current = () => (this.#changes.newest(missing) === change ? change : null)
      void thread.catchUp(missing, this.#searches, place, current).then(() => this.#distribute())
    }
    return isMaking
  }

  /** Returns the newest commit of an index; null if its copy would take too much memory. */
  async #placeFor(index: IndexId): Promise<CommitPlace | null> {
    const place = (await this.#writer.call('newestCommit', [index])) as CommitPlace
    const free = (): number => this.#copiedBytesMax - this.#copies.reduce((sum, { bytes }) => sum + bytes, 0)
    while (free() < place.bytes) {
      const oldest = this.#copies
        .flatMap((thread) => ({ thread, copy: thread.oldest() }))
        .reduce((a, b) => ((b.copy?.usedAt ?? Infinity) < (a.copy?.usedAt ?? Infinity) ? b : a))
      if (oldest.copy === null || this.#searches - oldest.copy.usedAt < USED_SEARCHES) return null
      await oldest.thread.forget(oldest.copy.index)
    }
    return place
  }
}

/** True if the request is wrong, for every copy of the index. */
const isMistake = (error: unknown): boolean => error instanceof EngineError && error.code !== 'index_damaged'
