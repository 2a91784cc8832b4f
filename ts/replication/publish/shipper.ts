import { rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Engine, Pin } from '../../engine/index.js'
import { makeDirectory } from '../../engine/index.js'
import {
  catalogueIn,
  type OutgoingChanges,
  type OutgoingPage,
  portionsOf,
  replicaSchema,
  uploadsIn,
} from '../../tasks/index.js'
import { PartReader } from '../follow/part-reader.js'
import { AHEAD_BYTES, RECORD_CHANGES_CHARS } from '../limits.js'
import { type Body, encodeBody } from '../log/body.js'
import type { Fence } from '../log/fence.js'
import type { LogState } from '../log/log-state.js'
import {
  bytesOf,
  FilePublisher,
  type FilesChange,
  InlineParts,
  type Log,
  type LogWriter,
  type ObjectStore,
  type Repeating,
  recordKey,
  repeatingStore,
} from '../object-store/index.js'
import { CheckpointMaker, type CheckpointOutcome } from './checkpoint-maker.js'
import { UploadSender } from './uploads.js'

interface ShipperSetup {
  readonly outgoing: OutgoingChanges
  readonly engine: Pick<Engine, 'damage' | 'newestCommitFile' | 'pin' | 'snapshot' | 'unpin'>
  /** Returns uid and id of the current indexes. */
  readonly indexes: () => readonly NamedIndex[]
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly log: Log
  readonly writer: LogWriter
  readonly instanceUid: string
  /** The fence of the writer. */
  readonly fence: Fence
  /** The last log record that the newest checkpoint covers; null: no checkpoint exists. */
  readonly base: number | null
  /** State of the log at its end. */
  readonly state: LogState
  /** `ahead` sends new files of a commit that have at least this many bytes. Default: 1 MiB. */
  readonly aheadBytes?: number
  /** Called after each log record. */
  readonly onAppended?: (seq: number) => void
  /** Milliseconds of a monotonic clock. Default: the clock of the process. */
  readonly now?: () => number
  /** Directory for copies of commits, on the file system of the indexes. Its content is removed first. */
  readonly scratch: string
}

interface NamedIndex {
  readonly uid: string
  readonly id: string
}

/** A log record that may not be in the log yet. */
interface Pending {
  readonly record: { readonly bytes: Uint8Array; readonly writeId: string }
  readonly body: Body
  /** The last transaction of the state that this record completes; null: it completes none, or has no rows. */
  readonly completes: number | null
}

/** A page of changes, and the commits that belong to it. */
interface Taken {
  readonly page: OutgoingPage
  readonly pins: readonly Pin[]
  /** Releases the uploads of the page. */
  readonly release: () => Promise<void>
}

/**
 * Sends changes of the task store and the indexes in the order of transactions: first the index files, then the log
 * record with the rows and the references to the files. Rows and files of a record are consistent: no batch was between
 * its commit and the recording of its outcome. So another server can continue from any complete state.
 */
export class Shipper {
  readonly #setup: ShipperSetup
  readonly #store: Pick<ObjectStore, 'put' | 'get'>
  readonly #publisher: FilePublisher
  readonly #parts: PartReader
  readonly #uploads: UploadSender
  #objects = 0
  /** Log records of a page, in order. */
  #pending: readonly Pending[] = []
  /** Position in the log that was not stored in the task store yet. */
  #unreported: { readonly last: number; readonly seq: number } | null = null
  /**
   * The last transaction of open records. The task store keeps their changes until they are complete; 0: none is open.
   */
  #openTo = 0
  /** Uids of indexes whose rows were sent in open records without their files. */
  #awaitingFiles = new Set<string>()
  readonly #checkpoints: CheckpointMaker
  /** Id of an index → time when files of a commit were sent. Files of background merges and graphs follow later. */
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
        this.#checkpoints.count(body.length)
        return store.put(key, body, signal)
      },
    }
    this.#parts = new PartReader(setup.log, this.#store)
    this.#uploads = new UploadSender(setup.outgoing.uploads)
    this.#checkpoints = new CheckpointMaker({
      ...setup,
      newest: setup.base,
      parts: this.#parts,
      uploads: this.#uploads,
    })
    setup.state.fenced()
    const { epoch } = setup.writer
    // Stored before anything is sent under this fence, so that `readOwnState` detects changes of a copy of this
    // directory.
    this.#unreported = { last: 0, seq: epoch }
    this.#publisher = new FilePublisher(
      this.#store,
      (id, name, from, bytes) => `index/${id}/${epoch}/${this.#objects++}-${name}.${from}-${from + bytes}`,
    )
  }

  /** The last log record that the newest checkpoint covers; -1: no checkpoint exists. */
  get newestCheckpoint(): number {
    return this.#checkpoints.newest
  }

  /** Number of the last transaction that the bucket has. */
  get sent(): number {
    return this.#sent
  }

  /**
   * Sends the oldest pending changes.
   * @returns true if changes were pending
   * @throws FencedError once another writer has taken over the log
   * @throws BucketError if the store refuses; the next call sends the same bytes
   */
  async ship(signal: AbortSignal): Promise<boolean> {
    await this.#clear()
    await this.#report()
    if (this.#pending.length === 0) this.#pending = await this.#next(signal)
    const [pending] = this.#pending
    const isSending = pending !== undefined
    if (isSending) await this.#append(pending, signal)
    this.#checkpoints.sent(isSending ? this.#sent : null)
    return isSending
  }

  /**
   * Starts a checkpoint of the current state of the log. It is made while `ship` is called. Its image is newer than its
   * log record, so it is published only once the log has all transactions of the image.
   */
  async beginCheckpoint(signal: AbortSignal, onDone: CheckpointOutcome): Promise<void> {
    const { writer } = this.#setup
    await this.#clear()
    await this.#report()
    // A checkpoint must be at a log record that completes a state.
    await this.#close(signal)
    await this.#adopt(signal)
    await this.#checkpoints.begin(writer.next - 1, signal, onDone)
  }

  /** Sends changes until the last record completes a state. */
  async #close(signal: AbortSignal): Promise<void> {
    while (this.#pending.length > 0 || this.#setup.state.isOpen) await this.ship(signal)
  }

  /** Resolves once no call for a checkpoint is in progress. A checkpoint not published by then waits for `ship`. */
  checkpointIdle(): Promise<void> {
    return this.#checkpoints.idle()
  }

  /** Cancels the checkpoint in progress. No further one is made. */
  end(): Promise<void> {
    return this.#checkpoints.end()
  }

  /**
   * Sends files of background merges of an index, once its last commit was sent at least `ageMs` ago.
   * @returns true if a log record was appended
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
      const pins = await outgoing.holdCommits([named.uid], async () =>
        // If rows are pending, the commit is sent with them.
        (await outgoing.next(0, 0)) === null ? this.#pinned([named]) : null,
      )
      if (pins === null) continue
      const published = await this.#published(pins, new InlineParts(), signal)
      const { changed, gone } = published.files[id] ?? { changed: [], gone: [] }
      if (changed.length === 0 && gone.length === 0) continue
      const rows = { rows: '', schema: replicaSchema, outbox: fence.writer, last: 0, isOpen: false }
      await this.#append(this.#record({ ...rows, adopted: [], ...published }, null), signal)
      return true
    }
    return false
  }

  /**
   * Appends a record that names the server that shall take over. Everything must have been sent.
   * @param to identity of its data directory
   * @throws FencedError, BucketError
   */
  async handOver(to: string, signal: AbortSignal): Promise<void> {
    const { fence } = this.#setup
    const rows = { rows: '', schema: replicaSchema, outbox: fence.writer, last: 0, isOpen: false }
    await this.#append(this.#record({ ...rows, ...nothing, adopted: [], handover: to }, null), signal)
  }

  /** Ids of the indexes whose files `refresh` would send. */
  settled(ageMs: number): readonly string[] {
    return [...this.#settling].filter(([, sentAt]) => this.#now() - sentAt >= ageMs).map(([id]) => id)
  }

  /**
   * Sends an upload before its task is stored, so that the log record of the task need not wait for it.
   * @throws BucketError
   */
  async upload(name: string, signal: AbortSignal): Promise<void> {
    if (!(await this.#uploads.send([name], this.#store, signal)))
      throw new Error(`the upload ${name} is gone`)
  }

  /**
   * Sends large new files of the newest commit of an index before their log record is made, which then finds them in
   * the bucket. May be called while `ship` is in progress.
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

  /** True if enough was sent since the newest checkpoint to make a new one worthwhile. */
  get isCheckpointDue(): boolean {
    return this.#checkpoints.isDue(this.#setup.writer.next)
  }

  /**
   * Keys of all objects and log records with files in the current state or in pending records. Includes log records
   * whose files a checkpoint has moved, since this writer may have read the log before the checkpoint existed.
   */
  references(): ReadonlySet<string> {
    const { files } = this.#setup.state
    const parts = files.ids().flatMap((id) => [...files.of(id).values()].flat())
    const keys = parts.map(({ location }) => ('key' in location ? location.key : recordKey(location.seq)))
    for (const { body } of this.#pending)
      for (const { changed } of Object.values(body.files))
        for (const { location } of changed.flatMap((change) => change.parts))
          if ('key' in location) keys.push(location.key)
    return new Set([...keys, ...this.#publisher.keysAhead(), ...this.#checkpoints.references()])
  }

  /** Removes files of a former process. */
  #clear(): Promise<unknown> {
    const { scratch } = this.#setup
    this.#cleared ??= rm(scratch, { recursive: true, force: true })
      .then(() => makeDirectory(scratch))
      .catch((error: unknown) => {
        // Retried with the next log record.
        this.#cleared = null
        throw error
      })
    return this.#cleared
  }

  async #append({ record, body, completes }: Pending, signal: AbortSignal): Promise<void> {
    const { writer, state } = this.#setup
    const beganAt = this.#now()
    const seq = await writer.append(record, signal)
    this.#setup.onAppended?.(seq)
    this.#checkpoints.appended(this.#now() - beganAt)
    this.#checkpoints.count(record.bytes.length)
    this.#pending = this.#pending.slice(1)
    const before = state.ids()
    state.take(seq, body)
    const live = new Set(state.ids())
    for (const id of before) if (!live.has(id)) this.#forget(id)
    if (body.rows !== '') for (const id of Object.keys(body.files)) this.#settling.set(id, this.#now())
    this.#parts.remember(seq, body.inline)
    if (body.isOpen) this.#openTo = body.last
    if (completes === null) return
    this.#unreported = { last: completes, seq }
    await this.#report()
  }

  /** Forgets a deleted index, so that its objects become garbage. */
  #forget(id: string): void {
    this.#publisher.forget(id)
    this.#settling.delete(id)
  }

  /** Stores the position of the log in the task store. If that fails, nothing is sent until it succeeds. */
  async #report(): Promise<void> {
    if (this.#unreported === null) return
    const { last, seq } = this.#unreported
    await this.#setup.outgoing.sent(last, seq)
    this.#sent = last
    this.#openTo = 0
    this.#unreported = null
  }

  async #next(signal: AbortSignal): Promise<readonly Pending[]> {
    const { outgoing } = this.#setup
    const first = await outgoing.next(RECORD_CHANGES_CHARS, this.#openTo)
    if (first === null) return []
    if (first.isCut) return this.#openRecords(first, signal)
    /** Last transaction of the page whose upload was gone. */
    let incomplete: number | null = null
    for (let uids = this.#uidsOf(first); ; ) {
      const taken = await this.#taken(uids, incomplete === null ? uids : null)
      if (taken === null) return []
      try {
        if (taken.page.isCut) return await this.#openRecords(taken.page, signal)
        const missed = this.#uidsOf(taken.page).filter((uid) => !uids.includes(uid))
        let isComplete = false
        try {
          const names = uploadsIn(taken.page.changes)
          if (missed.length === 0) isComplete = await this.#uploads.send(names, this.#store, signal)
          // A batch removes the uploads of its tasks shortly before it stores their ends. The next page is read while no
          // batch does so, and has these ends.
          if (missed.length === 0 && !isComplete) {
            if (incomplete === taken.page.last)
              throw new Error(
                `the data directory lacks the upload of a waiting task, one of ${names.join(', ')}`,
              )
            incomplete = taken.page.last
          }
        } finally {
          if (!isComplete) await this.#release(taken.pins)
        }
        if (isComplete) return await this.#closedRecords(taken, signal)
        uids = [...uids, ...missed]
      } finally {
        await taken.release()
      }
    }
  }

  #uidsOf({ changes }: OutgoingPage): readonly string[] {
    return [...new Set([...this.#awaitingFiles, ...catalogueIn(changes).written.map(([uid]) => uid)])]
  }

  /**
   * Returns the pending changes and consistent commits of these indexes.
   * @param held uids of the indexes that no batch may commit to meanwhile; null: all
   */
  #taken(uids: readonly string[], held: readonly string[] | null): Promise<Taken | null> {
    const { outgoing, indexes } = this.#setup
    return outgoing.holdCommits(held, async () => {
      const page = await outgoing.next(RECORD_CHANGES_CHARS, this.#openTo)
      if (page === null) return null
      const named = page.isCut ? [] : indexes().filter(({ uid }) => uids.includes(uid))
      const release = outgoing.uploads.hold(uploadsIn(page.changes))
      try {
        return { page, release, pins: await this.#pinned(named) }
      } catch (error) {
        await release()
        throw error
      }
    })
  }

  /** Pins the commits of indexes, except for damaged ones whose files in the log can stay as they are. */
  async #pinned(indexes: readonly NamedIndex[]): Promise<readonly Pin[]> {
    const { engine } = this.#setup
    const pins: Pin[] = []
    try {
      for (const { id } of indexes)
        if (engine.damage(id) === null || (await this.#lacksCommit(id))) pins.push(await engine.pin(id))
      return pins
    } catch (error) {
      await this.#release(pins)
      throw error
    }
  }

  /** Returns true if the log has an older commit of an index. Followers would show it as the newest one. */
  async #lacksCommit(id: string): Promise<boolean> {
    const files = this.#setup.state.files.of(id)
    const path = await this.#setup.engine.newestCommitFile(id)
    if (path === null || files.size === 0) return false
    const parts = files.get(basename(path))
    return parts === undefined || (await stat(path)).size > bytesOf(parts)
  }

  async #release(pins: readonly Pin[]): Promise<void> {
    for (const pin of pins) await this.#setup.engine.unpin(pin)
  }

  /** Makes open records if one record cannot hold all rows. The files follow in the record that completes them. */
  async #openRecords(page: OutgoingPage, signal: AbortSignal): Promise<readonly Pending[]> {
    await this.#uploads.send(uploadsIn(page.changes), this.#store, signal)
    for (const [uid] of catalogueIn(page.changes).written) this.#awaitingFiles.add(uid)
    return this.#records(page, null)
  }

  async #closedRecords({ page, pins }: Taken, signal: AbortSignal): Promise<readonly Pending[]> {
    const published = await this.#published(pins, new InlineParts(), signal)
    this.#awaitingFiles.clear()
    return this.#records(page, published)
  }

  /** @param files of the last record, which completes the state; null: it stays open */
  #records(
    { changes, schema, outbox, last }: OutgoingPage,
    files: Pick<Body, 'files' | 'inline'> | null,
  ): readonly Pending[] {
    const json = JSON.stringify(changes)
    const portions =
      json.length <= RECORD_CHANGES_CHARS
        ? [json]
        : portionsOf(changes, RECORD_CHANGES_CHARS).map((portion) => JSON.stringify(portion))
    return portions.map((rows, number) => {
      const isLast = number === portions.length - 1
      const closing = isLast ? files : null
      return this.#record(
        {
          ...{ rows, schema, outbox, last, adopted: [] },
          isOpen: closing === null,
          ...(closing ?? nothing),
        },
        closing === null ? null : last,
      )
    })
  }

  #record(body: Body, completes: number | null): Pending {
    return { record: this.#setup.writer.record(encodeBody(body)), body, completes }
  }

  /** Sends indexes without rows in the log: they are older than the log or than change tracking. */
  async #adopt(signal: AbortSignal): Promise<void> {
    const { state, outgoing, indexes, fence } = this.#setup
    for (;;) {
      const known = new Set(state.ids())
      if (indexes().every(({ id }) => known.has(id))) return
      // Most are sent with pending rows, without keeping out all batches.
      if (await this.ship(signal)) {
        await this.#close(signal)
        continue
      }
      const taken = await outgoing.holdCommits(null, async () => {
        // A new index is sent with its pending rows.
        if ((await outgoing.next(0, 0)) !== null) return null
        const unknown = indexes().filter(({ id }) => !known.has(id))
        return { unknown, pins: await this.#pinned(unknown) }
      })
      if (taken !== null) {
        const published = await this.#published(taken.pins, new InlineParts(0), signal)
        const adopted = taken.unknown.map(({ uid, id }) => [uid, id] as const)
        const rows = { rows: '', schema: replicaSchema, outbox: fence.writer, last: 0, isOpen: false }
        await this.#append(this.#record({ ...rows, adopted, ...published }, null), signal)
      }
    }
  }

  /** Publishes the pinned commits and releases the pins. */
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
