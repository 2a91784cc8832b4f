import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  entryKey,
  FilePublisher,
  type FilesChange,
  InlineParts,
  type Log,
  type LogWriter,
  type ObjectStore,
  type Repeating,
  repeatingStore,
} from '../bucket/index.js'
import type { Engine, Pin } from '../engine/index.js'
import {
  catalogueIn,
  type OutgoingChanges,
  type OutgoingPage,
  portionsOf,
  replicaSchema,
  uploadsIn,
} from '../tasks/index.js'
import { BaseMaker, type BaseOutcome } from './base-maker.js'
import { type Body, encodeBody } from './body.js'
import type { Fence } from './fence.js'
import { AHEAD_BYTES, ENTRY_CHANGES_CHARS } from './limits.js'
import type { LogState } from './log-state.js'
import { PartReader } from './part-reader.js'
import { UploadSender } from './uploads.js'

export interface ShipperSetup {
  readonly outgoing: OutgoingChanges
  readonly engine: Pick<Engine, 'pin' | 'snapshot' | 'unpin'>
  /** Uid and id of the indexes that there are now. */
  readonly indexes: () => readonly NamedIndex[]
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly log: Log
  readonly writer: LogWriter
  readonly instanceUid: string
  /** The fence of the writer. */
  readonly fence: Fence
  /** The entry that the newest base covers to; null: there is no base. */
  readonly base: number | null
  /** What the log tells up to its end. */
  readonly state: LogState
  /** Bytes of new files of a commit from which `ahead` sends them. Absent: a MiB. */
  readonly aheadBytes?: number
  /** Milliseconds by a monotonic clock. Absent: that of the process. */
  readonly now?: () => number
  /** A directory of the same file system as the indexes, for copies of commits. What is in it is removed. */
  readonly scratch: string
}

interface NamedIndex {
  readonly uid: string
  readonly id: string
}

/** An entry that is not known to be in the log yet. */
interface Pending {
  readonly entry: { readonly bytes: Uint8Array; readonly writeId: string }
  readonly body: Body
  /** The last transaction of the state that is whole with this entry; null: it is not, or the entry has no rows. */
  readonly completes: number | null
}

/** A page, and the commits that belong to it. */
interface Taken {
  readonly page: OutgoingPage
  readonly pins: readonly Pin[]
  /** Lets go of the uploads of the page. */
  readonly release: () => Promise<void>
}

/**
 * Sends what the task store and the indexes have become, in the order of transactions: first the files of indexes, then
 * the entry that names them beside the rows. Rows and files of an entry are of one moment, at which no batch was between
 * its commit and its record, so that another server can go on from there.
 */
export class Shipper {
  readonly #setup: ShipperSetup
  readonly #store: Pick<ObjectStore, 'put' | 'get'>
  readonly #publisher: FilePublisher
  readonly #parts: PartReader
  readonly #uploads: UploadSender
  #objects = 0
  /** Entries of one page, in order. */
  #pending: readonly Pending[] = []
  /** What the log has and the task store was not told of yet. */
  #unnoted: { readonly last: number; readonly seq: number } | null = null
  /** The last transaction of open entries, which the task store keeps until they are complete; 0: there are none. */
  #openTo = 0
  /** Uids of indexes whose rows were sent in open entries, without their files. */
  #owed = new Set<string>()
  readonly #bases: BaseMaker
  /** Id of an index → when files of a commit of it were sent, which merges and graphs follow in the background. */
  readonly #settling = new Map<string, number>()
  readonly #now: () => number
  #sent = 0
  #cleared: Promise<unknown> | null = null

  constructor(setup: ShipperSetup) {
    this.#setup = setup
    this.#now = setup.now ?? (() => performance.now())
    const store = repeatingStore(setup.store, setup.repeating)
    this.#store = {
      ...store,
      put: (key, body, signal) => {
        this.#bases.count(body.length)
        return store.put(key, body, signal)
      },
    }
    this.#parts = new PartReader(setup.log, this.#store)
    this.#uploads = new UploadSender(setup.outgoing.uploads)
    this.#bases = new BaseMaker({
      ...setup,
      newest: setup.base,
      parts: this.#parts,
      uploads: this.#uploads,
    })
    setup.state.fenced()
    const { epoch } = setup.writer
    // Before anything is sent under this fence, so that `readOwnState` can tell what a copy of this directory sends.
    this.#unnoted = { last: 0, seq: epoch }
    this.#publisher = new FilePublisher(
      this.#store,
      (id, name, from, bytes) => `index/${id}/${epoch}/${this.#objects++}-${name}.${from}-${from + bytes}`,
    )
  }

  /** The entry that the newest base covers to; -1: there is no base. */
  get newestBase(): number {
    return this.#bases.newest
  }

  /** Number of the last transaction that the bucket has. */
  get sent(): number {
    return this.#sent
  }

  /**
   * Sends the oldest changes that wait.
   * @returns whether there were any
   * @throws FencedError once another writer has taken over the log
   * @throws BucketError if the store refuses; the next call sends the same bytes again
   */
  async ship(signal: AbortSignal): Promise<boolean> {
    await this.#clear()
    await this.#note()
    if (this.#pending.length === 0) this.#pending = await this.#next(signal)
    const [pending] = this.#pending
    const isSending = pending !== undefined
    if (isSending) await this.#append(pending, signal)
    this.#bases.sent(isSending ? this.#sent : null)
    return isSending
  }

  /**
   * Begins a base of what the log tells now, which is made while `ship` is called: its image is newer than the entry it is
   * named by, and what the image has must be in the log for those who read on from there.
   */
  async beginBase(signal: AbortSignal, told: BaseOutcome): Promise<void> {
    const { writer } = this.#setup
    await this.#clear()
    await this.#note()
    // A base names an entry that closes a state.
    await this.#close(signal)
    await this.#adopt(signal)
    await this.#bases.begin(writer.next - 1, signal, told)
  }

  /** Sends on until no state is open. */
  async #close(signal: AbortSignal): Promise<void> {
    while (this.#pending.length > 0 || this.#setup.state.isOpen) await this.ship(signal)
  }

  /** Resolves once no calls for a base are under way: one that is not published by then waits for `ship`. */
  baseIdle(): Promise<void> {
    return this.#bases.idle()
  }

  /** Ends what is made beside `ship`; nothing is begun any more. */
  end(): Promise<void> {
    return this.#bases.end()
  }

  /**
   * Sends files that an index got in the background, once so long after its last commit was sent.
   * @returns whether there were any
   * @throws FencedError, BucketError
   */
  async refresh(ageMs: number, signal: AbortSignal): Promise<boolean> {
    const { state, outgoing, indexes, fence } = this.#setup
    if (this.#pending.length > 0 || state.isOpen) return false
    for (const [id, sentAt] of this.#settling) {
      if (this.#now() - sentAt < ageMs) continue
      this.#settling.delete(id)
      const named = indexes().find((index) => index.id === id)
      if (named === undefined) continue
      const pins = await outgoing.keepOut([named.uid], async () =>
        // A commit whose rows wait goes with them.
        (await outgoing.next(0, 0)) === null ? this.#pinned([named]) : null,
      )
      if (pins === null) continue
      const published = await this.#published(pins, new InlineParts(), signal)
      const { changed, gone } = published.files[id]!
      if (changed.length === 0 && gone.length === 0) continue
      const rows = { rows: '', schema: replicaSchema, outbox: fence.writer, last: 0, isOpen: false }
      await this.#append(this.#entry({ ...rows, adopted: [], ...published }, null), signal)
      return true
    }
    return false
  }

  /** Ids of indexes that `refresh` would send files of. */
  settled(ageMs: number): readonly string[] {
    return [...this.#settling].filter(([, sentAt]) => this.#now() - sentAt >= ageMs).map(([id]) => id)
  }

  /** Sends an upload that no task names yet, so that the entry of its task need not wait for it. @throws BucketError */
  async upload(name: string, signal: AbortSignal): Promise<void> {
    if (!(await this.#uploads.send([name], this.#store, signal)))
      throw new Error(`the upload ${name} is gone`)
  }

  /**
   * Sends files of the newest commit of an index, if they are many bytes, which no entry tells of yet: the one that does
   * finds them in the bucket. May be called while `ship` is under way.
   * @throws BucketError
   */
  async ahead(id: string, signal: AbortSignal): Promise<void> {
    const { engine, state, scratch, aheadBytes = AHEAD_BYTES } = this.#setup
    await this.#clear()
    const pin = await engine.pin(id)
    const copy = join(scratch, `${id}-${this.#objects++}`)
    try {
      await engine.snapshot(pin, copy)
      await this.#publisher.ahead(id, copy, state.files.of(id), { bytesMin: aheadBytes, signal })
    } finally {
      await engine.unpin(pin)
      await rm(copy, { recursive: true, force: true })
    }
  }

  /** Whether so much was sent since the newest base that the next one pays. */
  get isBaseDue(): boolean {
    return this.#bases.isDue(this.#setup.writer.next)
  }

  /**
   * Keys of all objects and entries that have files of what the log, or what was not appended yet, tells. An entry is among them
   * even if a base has its files elsewhere: this writer may have read the log before that base was there.
   */
  references(): ReadonlySet<string> {
    const { files } = this.#setup.state
    const parts = files.ids().flatMap((id) => [...files.of(id).values()].flat())
    const keys = parts.map(({ location }) => ('key' in location ? location.key : entryKey(location.seq)))
    for (const { body } of this.#pending)
      for (const { changed } of Object.values(body.files))
        for (const { location } of changed.flatMap((change) => change.parts))
          if ('key' in location) keys.push(location.key)
    return new Set([...keys, ...this.#publisher.keysAhead(), ...this.#bases.references()])
  }

  /** Removes what a former process left. */
  #clear(): Promise<unknown> {
    const { scratch } = this.#setup
    this.#cleared ??= rm(scratch, { recursive: true, force: true })
      .then(() => mkdir(scratch, { recursive: true }))
      .catch((error: unknown) => {
        // Tried again with the next entry.
        this.#cleared = null
        throw error
      })
    return this.#cleared
  }

  async #append({ entry, body, completes }: Pending, signal: AbortSignal): Promise<void> {
    const { writer, state } = this.#setup
    const beganAt = this.#now()
    const seq = await writer.append(entry, signal)
    this.#bases.appended(this.#now() - beganAt)
    this.#bases.count(entry.bytes.length)
    this.#pending = this.#pending.slice(1)
    state.take(seq, body)
    if (body.rows !== '') for (const id of Object.keys(body.files)) this.#settling.set(id, this.#now())
    this.#parts.remember(seq, body.inline)
    if (body.isOpen) this.#openTo = body.last
    if (completes === null) return
    this.#unnoted = { last: completes, seq }
    await this.#note()
  }

  /** Tells the task store what the log has. If that fails, nothing more is sent until it succeeds. */
  async #note(): Promise<void> {
    if (this.#unnoted === null) return
    const { last, seq } = this.#unnoted
    await this.#setup.outgoing.sent(last, seq)
    this.#sent = last
    this.#openTo = 0
    this.#unnoted = null
  }

  async #next(signal: AbortSignal): Promise<readonly Pending[]> {
    const { outgoing } = this.#setup
    const first = await outgoing.next(ENTRY_CHANGES_CHARS, this.#openTo)
    if (first === null) return []
    if (first.isCut) return this.#openEntries(first, signal)
    for (let uids = this.#uidsOf(first); ; ) {
      const taken = await this.#taken(uids)
      if (taken === null) return []
      try {
        if (taken.page.isCut) return await this.#openEntries(taken.page, signal)
        const missed = this.#uidsOf(taken.page).filter((uid) => !uids.includes(uid))
        let isWhole = false
        try {
          // An upload may be gone because its task ended just now, which the page does not tell.
          const names = uploadsIn(taken.page.changes)
          isWhole = missed.length === 0 && (await this.#uploads.send(names, this.#store, signal))
        } finally {
          if (!isWhole) await this.#release(taken.pins)
        }
        if (isWhole) return await this.#closedEntries(taken, signal)
        uids = [...uids, ...missed]
      } finally {
        await taken.release()
      }
    }
  }

  #uidsOf({ changes }: OutgoingPage): readonly string[] {
    return [...new Set([...this.#owed, ...catalogueIn(changes).written.map(([uid]) => uid)])]
  }

  /** The changes that wait, and the commits of these indexes, of one moment. */
  #taken(uids: readonly string[]): Promise<Taken | null> {
    const { outgoing, indexes } = this.#setup
    return outgoing.keepOut(uids, async () => {
      const page = await outgoing.next(ENTRY_CHANGES_CHARS, this.#openTo)
      if (page === null) return null
      const named = page.isCut ? [] : indexes().filter(({ uid }) => uids.includes(uid))
      const release = outgoing.uploads.hold(uploadsIn(page.changes))
      return { page, release, pins: await this.#pinned(named) }
    })
  }

  async #pinned(indexes: readonly NamedIndex[]): Promise<readonly Pin[]> {
    const pins: Pin[] = []
    try {
      for (const { id } of indexes) pins.push(await this.#setup.engine.pin(id))
      return pins
    } catch (error) {
      await this.#release(pins)
      throw error
    }
  }

  async #release(pins: readonly Pin[]): Promise<void> {
    for (const pin of pins) await this.#setup.engine.unpin(pin)
  }

  /** Rows that are too many for one entry go ahead of the files that complete them. */
  async #openEntries(page: OutgoingPage, signal: AbortSignal): Promise<readonly Pending[]> {
    await this.#uploads.send(uploadsIn(page.changes), this.#store, signal)
    for (const [uid] of catalogueIn(page.changes).written) this.#owed.add(uid)
    return this.#entries(page, null)
  }

  async #closedEntries({ page, pins }: Taken, signal: AbortSignal): Promise<readonly Pending[]> {
    const published = await this.#published(pins, new InlineParts(), signal)
    this.#owed.clear()
    return this.#entries(page, published)
  }

  /** @param files what the last entry closes with; null: it stays open */
  #entries(
    { changes, schema, outbox, last }: OutgoingPage,
    files: Pick<Body, 'files' | 'inline'> | null,
  ): readonly Pending[] {
    const whole = JSON.stringify(changes)
    const portions =
      whole.length <= ENTRY_CHANGES_CHARS
        ? [whole]
        : portionsOf(changes, ENTRY_CHANGES_CHARS).map((portion) => JSON.stringify(portion))
    return portions.map((rows, number) => {
      const isLast = number === portions.length - 1
      const closing = isLast ? files : null
      return this.#entry(
        {
          ...{ rows, schema, outbox, last, adopted: [] },
          isOpen: closing === null,
          ...(closing ?? nothing),
        },
        closing === null ? null : last,
      )
    })
  }

  #entry(body: Body, completes: number | null): Pending {
    return { entry: this.#setup.writer.entry(encodeBody(body)), body, completes }
  }

  /** Sends indexes whose rows no entry has, since they were there before the log, or before this store kept changes. */
  async #adopt(signal: AbortSignal): Promise<void> {
    const { state, outgoing, indexes, fence } = this.#setup
    for (;;) {
      const known = new Set(state.ids())
      if (indexes().every(({ id }) => known.has(id))) return
      // Most come with rows that wait, and need no moment without any batch.
      if (await this.ship(signal)) {
        await this.#close(signal)
        continue
      }
      const taken = await outgoing.keepOut(null, async () => {
        // An index that was made just now comes with its rows.
        if ((await outgoing.next(0, 0)) !== null) return null
        const unknown = indexes().filter(({ id }) => !known.has(id))
        return { unknown, pins: await this.#pinned(unknown) }
      })
      if (taken !== null) {
        const published = await this.#published(taken.pins, new InlineParts(0), signal)
        const adopted = taken.unknown.map(({ uid, id }) => [uid, id] as const)
        const rows = { rows: '', schema: replicaSchema, outbox: fence.writer, last: 0, isOpen: false }
        await this.#append(this.#entry({ ...rows, adopted, ...published }, null), signal)
      }
    }
  }

  /** Publishes what pins hold, and lets go of them. */
  async #published(
    pins: readonly Pin[],
    inline: InlineParts,
    signal: AbortSignal,
  ): Promise<Pick<Body, 'files' | 'inline'>> {
    const { engine, state, scratch } = this.#setup
    const files: Record<string, FilesChange> = {}
    try {
      for (const pin of pins) {
        const copy = join(scratch, `${pin.index}-${this.#objects++}`)
        try {
          await engine.snapshot(pin, copy)
          const known = state.files.of(pin.index)
          files[pin.index] = await this.#publisher.publish(pin.index, copy, known, inline, signal)
        } finally {
          await rm(copy, { recursive: true, force: true })
        }
      }
    } finally {
      await this.#release(pins)
    }
    return { files, inline: inline.joined() }
  }
}

const nothing: Pick<Body, 'files' | 'inline'> = { files: {}, inline: Buffer.alloc(0) }
