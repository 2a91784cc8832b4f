/**
 * The tasks or batches that change, as server-sent events, for as long as a client reads.
 *
 * A change only notes a uid. The reader is shown how the task or batch stands when its turn comes, so a slow reader
 * misses steps on the way and never the last one. Events are made when the connection takes them; what waits until then
 * is a list of uids with a bound.
 */
import { CHANGES_PAUSE_MS, CHANGES_READ, HEARTBEAT_MS, PROGRESS_PAUSE_MS, RECONNECT_MS } from '../limits.js'
import { ChangedUids } from './changed-uids.js'

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
  /** The events of all that are shown. Streams that ask for the same share these bytes. */
  readonly text: Buffer
}

export const eventOf = ({ json }: Shown): string => `data: ${json}\n\n`

/** Reads changes. null: the client may read nothing any more. */
export type ReadChanges = (uids: readonly number[]) => Promise<ChangesPage | null>

/** Ends that are remembered until their announcement. */
const ENDED_MAX = 100

/** The stream of one client. */
export class ChangeStream {
  readonly #read: ReadChanges
  readonly #changed = new ChangedUids()
  /** The JSON that was shown of what makes progress, by uid. */
  readonly #running = new Map<number, string>()
  /** The JSON that was shown of what made progress until it ended. */
  #lastEnded: ReadonlyMap<number, string> = new Map()
  #isOver = false
  #isLost = false
  #wake: () => void = () => undefined
  #shownAt = 0

  constructor(read: ReadChanges) {
    this.#read = read
  }

  /** Notes changes. A client that is too far behind loses its stream. */
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
      const { shown, next, text } = page
      const isRead = (uid: number): boolean => next === null || uid < next
      const changed = shown.filter((one) => this.#isNews(one))
      if (changed.length > 0)
        yield this.#sent(changed.length === shown.length ? text : changed.map(eventOf).join(''))
      const running = new Set(shown.flatMap(({ uid, isRunning }) => (isRunning ? uid : [])))
      for (const uid of uids) if (isRead(uid) && !running.has(uid)) this.#running.delete(uid)
      this.note(uids.filter((uid) => !isRead(uid)))
      if (performance.now() - this.#shownAt >= HEARTBEAT_MS) yield this.#sent(': still here\n\n')
      // Changes that follow each other closely are read together.
      if (uids.length > 0) await this.#pause(CHANGES_PAUSE_MS)
    }
    if (this.#isLost) yield 'event: lost\ndata: {"reason":"too many changes were not read in time"}\n\n'
  }

  #sent<E extends string | Buffer>(event: E): E {
    this.#shownAt = performance.now()
    return event
  }

  /** Resolves at the next change, when progress is to be read, or when it is time for a sign of life. */
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

  /** Whether the client has not seen it so. Progress is read without knowing whether there was any. */
  #isNews({ uid, json, isRunning }: Shown): boolean {
    if (this.#running.get(uid) === json || this.#lastEnded.get(uid) === json) return false
    if (isRunning) this.#running.set(uid, json)
    // A reading of progress can find the end before it is announced, which would show it twice.
    else if (this.#running.has(uid))
      this.#lastEnded = new Map([...this.#lastEnded, [uid, json] as const].slice(-ENDED_MAX))
    return true
  }
}
