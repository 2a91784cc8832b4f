/**
 * Streams changes of tasks or batches as server-sent events.
 *
 * A change only notes a uid. The current state is read when its event is due, so a slow client misses intermediate
 * states but never the last one. Events are made when the connection can take them. Until then only uids wait, in a
 * list of bounded length.
 */
import { CHANGES_PAUSE_MS, CHANGES_READ, HEARTBEAT_MS, PROGRESS_PAUSE_MS, RECONNECT_MS } from '../limits.js'
import { ChangedUids } from './changed-uids.js'

/** The current state of a task or batch. */
interface ItemState {
  readonly uid: number
  /** Its JSON, on one line. */
  readonly json: string
  /** True if its progress can change without a notification. */
  readonly isRunning: boolean
}

/** The changed tasks or batches that match the client's filter and rights. */
export interface ChangesPage {
  /** Ascending by uid. */
  readonly items: readonly ItemState[]
  /** The first uid that was not read; null: all were read. */
  readonly next: number | null
  /** The events of all items of `items`. Streams with the same filter share these bytes. */
  readonly text: Buffer
}

export const eventOf = ({ json }: ItemState): string => `data: ${json}\n\n`

/** Reads changes. null: the client lost its right to read. */
export type ReadChanges = (uids: readonly number[]) => Promise<ChangesPage | null>

/** Number of finished tasks or batches remembered until their end is notified. */
const ENDED_MAX = 100

/** The stream of one client. */
export class ChangeStream {
  readonly #read: ReadChanges
  readonly #changed = new ChangedUids()
  /** The JSON last sent for each running task or batch, by uid. */
  readonly #running = new Map<number, string>()
  /** The JSON last sent for tasks or batches that were seen running and then finished. */
  #lastEnded: ReadonlyMap<number, string> = new Map()
  #isOver = false
  #isLost = false
  #wake: () => void = () => undefined
  #sentAt = 0

  constructor(read: ReadChanges) {
    this.#read = read
  }

  /** Notes changes. Ends the stream of a client that is too far behind. */
  note(uids: readonly number[]): void {
    if (this.#isOver || uids.length === 0) return
    if (!this.#changed.add(uids)) {
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
  async *events(): AsyncGenerator<string | Buffer> {
    yield this.#sent(`retry: ${RECONNECT_MS}\n\n`)
    while (!this.#isOver) {
      if (this.#changed.isEmpty) await this.#untilChanged()
      const uids = this.#changed.taken(CHANGES_READ)
      const page = await this.#read(uids)
      if (page === null) return
      const { items, next, text } = page
      const isRead = (uid: number): boolean => next === null || uid < next
      const changed = items.filter((item) => this.#isNew(item))
      if (changed.length > 0)
        yield this.#sent(changed.length === items.length ? text : changed.map(eventOf).join(''))
      const running = new Set(items.flatMap(({ uid, isRunning }) => (isRunning ? uid : [])))
      for (const uid of uids) if (isRead(uid) && !running.has(uid)) this.#running.delete(uid)
      this.note(uids.filter((uid) => !isRead(uid)))
      if (performance.now() - this.#sentAt >= HEARTBEAT_MS) yield this.#sent(': still here\n\n')
      // Pause to read changes that follow each other closely together.
      if (uids.length > 0) await this.#pause(CHANGES_PAUSE_MS)
    }
    if (this.#isLost) yield 'event: lost\ndata: {"reason":"too many changes were not read in time"}\n\n'
  }

  #sent<E extends string | Buffer>(event: E): E {
    this.#sentAt = performance.now()
    return event
  }

  /** Resolves at the next change, when progress is to be read, or when a heartbeat is due. */
  async #untilChanged(): Promise<void> {
    await this.#pause(this.#running.size > 0 ? PROGRESS_PAUSE_MS : HEARTBEAT_MS, true)
    if (this.#changed.isEmpty) this.note([...this.#running.keys()])
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

  /** Returns true if the client has not received this state. Progress is polled, so it may be unchanged. */
  #isNew({ uid, json, isRunning }: ItemState): boolean {
    if (this.#running.get(uid) === json || this.#lastEnded.get(uid) === json) return false
    if (isRunning) this.#running.set(uid, json)
    // Polling can find the end before its notification, which would send it twice.
    else if (this.#running.has(uid))
      this.#lastEnded = new Map([...this.#lastEnded, [uid, json] as const].slice(-ENDED_MAX))
    return true
  }
}
