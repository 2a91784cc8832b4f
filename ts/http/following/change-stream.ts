/**
 * The tasks or batches that change, as server-sent events, for as long as a client reads.
 *
 * A change only notes a uid. The reader is shown how the task or batch stands when its turn comes, so a slow reader
 * misses steps on the way and never the last one. Events are made when the connection takes them; what waits until then
 * is a set of uids with a bound.
 */
import {
  CHANGES_PAUSE_MS,
  CHANGES_READ,
  HEARTBEAT_MS,
  PROGRESS_PAUSE_MS,
  RECONNECT_MS,
  UNSHOWN_CHANGES_MAX,
} from '../limits.js'

/** A task or batch as it stands. */
export interface Shown {
  readonly uid: number
  /** Its JSON, on one line. */
  readonly json: string
  /** Whether it makes progress that is not announced. */
  readonly isRunning: boolean
}

/** Those of the changed tasks or batches that the client wants to see and may see. */
export interface ChangesPage {
  /** Ascending by uid. */
  readonly shown: readonly Shown[]
  /** The uid from which on nothing was read; null: all were read. */
  readonly next: number | null
}

/** Reads changes. null: the client may read nothing any more. */
export type ReadChanges = (uids: readonly number[]) => Promise<ChangesPage | null>

/** The stream of one client. */
export class ChangeStream {
  readonly #read: ReadChanges
  readonly #changed = new Set<number>()
  /** The JSON that was shown of what makes progress, by uid. */
  readonly #running = new Map<number, string>()
  #isOver = false
  #isLost = false
  #wake: () => void = () => undefined
  #shownAt = 0

  constructor(read: ReadChanges) {
    this.#read = read
  }

  /** Notes changes. A client that is too far behind loses its stream. */
  note(uids: readonly number[]): void {
    if (this.#isOver) return
    for (const uid of uids) this.#changed.add(uid)
    if (this.#changed.size > UNSHOWN_CHANGES_MAX) {
      this.#isLost = true
      this.end()
    }
    this.#wake()
  }

  /** Ends the stream. */
  end(): void {
    this.#isOver = true
    this.#changed.clear()
    this.#wake()
  }

  /** The text of the answer. */
  async *events(): AsyncGenerator<string> {
    yield this.#sent(`retry: ${RECONNECT_MS}\n\n`)
    while (!this.#isOver) {
      if (this.#changed.size === 0) await this.#untilChanged()
      const uids = this.#taken()
      const page = await this.#read(uids)
      if (page === null) return
      const { shown, next } = page
      const isRead = (uid: number): boolean => next === null || uid < next
      for (const one of shown) if (this.#isNews(one)) yield this.#sent(`data: ${one.json}\n\n`)
      const running = new Set(shown.flatMap(({ uid, isRunning }) => (isRunning ? uid : [])))
      for (const uid of uids) if (isRead(uid) && !running.has(uid)) this.#running.delete(uid)
      this.note(uids.filter((uid) => !isRead(uid)))
      if (performance.now() - this.#shownAt >= HEARTBEAT_MS) yield this.#sent(': still here\n\n')
      // Changes that follow each other closely are read together.
      if (uids.length > 0) await this.#pause(CHANGES_PAUSE_MS)
    }
    if (this.#isLost) yield 'event: lost\ndata: {"reason":"too many changes were not read in time"}\n\n'
  }

  #sent(event: string): string {
    this.#shownAt = performance.now()
    return event
  }

  /** Resolves at the next change, when progress is to be read, or when it is time for a sign of life. */
  async #untilChanged(): Promise<void> {
    await this.#pause(this.#running.size > 0 ? PROGRESS_PAUSE_MS : HEARTBEAT_MS, true)
    if (this.#changed.size === 0) this.note([...this.#running.keys()])
  }

  /** Resolves after `ms`, at the end of the stream, and if `isEndedByChange` at the next change. */
  async #pause(ms: number, isEndedByChange = false): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        if (!isEndedByChange && !this.#isOver) return
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = () => undefined
  }

  #taken(): readonly number[] {
    const uids = [...this.#changed].sort((a, b) => a - b).slice(0, CHANGES_READ)
    for (const uid of uids) this.#changed.delete(uid)
    return uids
  }

  /** Whether the client has not seen it so. Progress is read without knowing whether there was any. */
  #isNews({ uid, json, isRunning }: Shown): boolean {
    if (this.#running.get(uid) === json) return false
    if (isRunning) this.#running.set(uid, json)
    return true
  }
}
