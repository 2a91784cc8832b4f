/** A running sync: copies documents, then follows changes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pauseMs } from '../../outbound/index.js'
import { CappedProgress } from './capped-progress.js'
import type { SyncConfig } from './config.js'
import { bytesOf, copyDocuments, linesOf } from './copying.js'
import type { Destination } from './destination.js'
import { documentId } from './document-ids.js'
import type { SyncFigures } from './figures.js'
import {
  BROKEN_COPY_MS,
  DROP_AFTER_MS,
  PAUSE_FIRST_MS,
  PAUSE_LAST_MS,
  SLOT_WATCH_MS,
  WATCH_MS,
} from './limits.js'
import { PageSize } from './page-size.js'
import type { MappingProgress, ProgressStore, SyncState } from './progress.js'
import {
  type ChangeBatch,
  type IndexChanges,
  isSourceError,
  type Mapping,
  type MappingFacts,
  type Source,
  type SourceDocument,
} from './source.js'

interface SyncSetup {
  readonly config: SyncConfig
  readonly source: Source
  readonly target: Destination
  readonly store: ProgressStore
  readonly figures: SyncFigures
  /** Ends the sync. */
  readonly signal: AbortSignal
  log(line: string): void
  /** Called while an index is copied. @param total estimate of the database; 0: unknown */
  copied(uid: string, rows: number, total: number): void
  /** Called after each page of documents, copied or changed. */
  worked?(): void
  /** Called when everything is copied, before changes are followed. */
  following?(): void
}

/** Runs until the signal aborts. Failures of the database or the target are logged, and the work continues. */
export async function runSync(setup: SyncSetup): Promise<void> {
  const { signal, log } = setup
  for (let failures = 0; !signal.aborted; ) {
    const session = new Session(setup)
    try {
      await session.run()
    } catch (error) {
      if (signal.aborted) return
      // A session that has applied changes ends a row of failures.
      failures = session.hasApplied ? 1 : failures + 1
      if (!isSourceError(error) && !(error instanceof Error)) throw error
      log(`${error.message}; trying again`)
      const pause = pauseMs(failures, { firstMs: PAUSE_FIRST_MS, lastMs: PAUSE_LAST_MS })
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }
}

/**
 * Waits until all writes have ended, then rejects if one has failed. If a session ended before its writes, a late one could
 * replace a newer document of the next session.
 */
async function allEnded(all: readonly (Promise<void> | null)[]): Promise<void> {
  await Promise.allSettled(all)
  await Promise.all(all)
}

/** Work with one connection to the stream of changes. */
class Session {
  readonly #setup: SyncSetup
  readonly #facts = new Map<string, MappingFacts>()
  readonly #size = new PageSize()
  #mappings: Record<string, MappingProgress> = {}
  #identity = ''
  #progress: CappedProgress | null = null
  #watchedMs = 0
  /** When a copy that failed is repeated, by index. */
  readonly #repeatMs = new Map<string, number>()
  hasApplied = false

  constructor(setup: SyncSetup) {
    this.#setup = setup
  }

  async run(): Promise<void> {
    const { source, store, signal } = this.#setup
    await store.create()
    await this.#whilePaused()
    if (signal.aborted) return
    this.#identity = await source.identity()
    for (const { uid } of this.#setup.config.mappings) await this.#prepare(uid)
    const position = await this.#openSlot()
    this.#progress = new CappedProgress({
      save: (at) => store.save(this.#state(at)),
      confirm: (at) => source.confirm(at),
      position,
    })
    const ended = new AbortController()
    void this.#watchSlot(ended.signal)
    try {
      await this.#copyAndFollow(position)
    } finally {
      ended.abort()
    }
  }

  async #copyAndFollow(position: string): Promise<void> {
    const { source, signal, log } = this.#setup
    await source.settled(signal)
    for (const mapping of this.#setup.config.mappings) await this.#copyIfNeeded(mapping)
    await this.#progress?.saveNow()
    log('following changes')
    this.#setup.following?.()
    await this.#follow(position)
  }

  #state(position: string): SyncState {
    return { source: this.#identity, position, mappings: this.#mappings }
  }

  async #whilePaused(): Promise<void> {
    const { store, signal, log, figures } = this.#setup
    let isSaid = false
    for (;;) {
      const { isPaused } = await store.requests()
      figures.isPaused.set(isPaused ? 1 : 0)
      if (!isPaused || signal.aborted) return
      if (!isSaid) log('paused; `resume` continues')
      isSaid = true
      await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Reads the tables of a mapping, and notes whether its documents can be read. */
  async #prepare(uid: string): Promise<void> {
    const { source, log } = this.#setup
    const prepared = await source.prepare(uid)
    const before = this.#mappings[uid]
    if (prepared.ok) {
      this.#facts.set(uid, prepared.facts)
      return
    }
    this.#facts.delete(uid)
    if (before?.state !== 'broken' || before.reason !== prepared.reason)
      log(`index \`${uid}\` is not updated: ${prepared.reason}`)
    this.#mappings[uid] = { state: 'broken', reason: prepared.reason }
    this.#countBroken()
  }

  /** Lets the other indexes go on if the documents of one cannot be read, for example because a cast fails. */
  #failed(uid: string, error: unknown): void {
    if (!isSourceError(error) || error.isTransient) throw error
    this.#setup.log(`index \`${uid}\` is not updated: ${error.message}`)
    this.#mappings[uid] = { state: 'broken', reason: error.message }
    this.#repeatMs.set(uid, Date.now() + BROKEN_COPY_MS)
    this.#countBroken()
  }

  #countBroken(): void {
    const broken = Object.values(this.#mappings).filter(({ state }) => state === 'broken')
    this.#setup.figures.isBroken.set(broken.length)
  }

  /** Returns the position to continue from. Forgets copies that miss changes. */
  async #openSlot(): Promise<string> {
    const { source, store, log } = this.#setup
    const facts = await source.slotFacts()
    if (facts !== null && !facts.isUsable) {
      log('the database has removed changes that the sync needs: all documents are copied again')
      await source.dropSlot({ isForced: true })
    }
    const slot = await source.openSlot()
    const known = await store.load()
    const broken = Object.entries(this.#mappings)
    const missing =
      known === null
        ? 'the target has no progress of this sync'
        : known.source !== this.#identity
          ? 'the progress is of another database'
          : slot.isNew
            ? 'the slot is new'
            : source.compare(slot.confirmed, known.position) > 0
              ? 'the target is older than the slot'
              : null
    if (missing === null && known !== null) {
      const configured = new Set(this.#setup.config.mappings.map(({ uid }) => uid))
      const kept = Object.entries(known.mappings).filter(([uid]) => configured.has(uid))
      this.#mappings = Object.fromEntries([...kept, ...broken])
      // After a failover the positions of the new primary count, and the known one may be of the old.
      return slot.confirmed
    }
    log(`all documents are copied: ${missing}`)
    await store.save(this.#state(slot.confirmed))
    return slot.confirmed
  }

  async #copyIfNeeded(mapping: Mapping): Promise<void> {
    const facts = this.#facts.get(mapping.uid)
    const before = this.#mappings[mapping.uid] ?? null
    if (facts === undefined) return
    if (before?.state === 'broken' && Date.now() < (this.#repeatMs.get(mapping.uid) ?? 0)) return
    if (before?.state === 'ready' && before.fingerprint === facts.fingerprint) return
    if (before?.state === 'ready')
      this.#setup.log(`index \`${mapping.uid}\`: the configuration or the columns have changed`)
    await this.#copy(mapping, facts, before)
  }

  async #copy(mapping: Mapping, facts: MappingFacts, before: MappingProgress | null): Promise<void> {
    const { source, target, signal, log, copied } = this.#setup
    const progress = async (state: MappingProgress): Promise<void> => {
      this.#setup.worked?.()
      const isStep = state.state !== this.#mappings[mapping.uid]?.state
      this.#mappings[mapping.uid] = state
      if (state.state === 'copying') copied(mapping.uid, state.rows, facts.estimatedRows)
      await (isStep ? this.#progress?.saveNow() : this.#progress?.saveSoon())
    }
    try {
      await copyDocuments({ source, target, mapping, facts, signal, log, progress }, before)
      this.#countBroken()
    } catch (error) {
      this.#failed(mapping.uid, error)
    }
  }

  async #follow(position: string): Promise<void> {
    const { source, signal } = this.#setup
    // Also ends the stream when this session ends by an error or a pause.
    const stop = new AbortController()
    const ended = AbortSignal.any([signal, stop.signal])
    const batches = source.changes(position, ended)[Symbol.asyncIterator]()
    try {
      let next = batches.next()
      next.catch(() => undefined)
      for (;;) {
        const batch = await Promise.race([next, sleep(WATCH_MS, null)])
        if (batch !== null) {
          if (batch.done) return
          await this.#apply(batch.value)
          next = batches.next()
          next.catch(() => undefined)
        }
        if (Date.now() - this.#watchedMs >= WATCH_MS && (await this.#watch()) === 'stop') return
      }
    } finally {
      // The last chance to confirm, while the connection is open.
      await this.#progress?.saveNow().catch(() => undefined)
      stop.abort()
      await batches.return?.(undefined).catch(() => undefined)
    }
  }

  async #apply({ changes, position, rows, committedMs }: ChangeBatch): Promise<void> {
    const { figures, config } = this.#setup
    await allEnded(
      config.mappings.map(async (mapping) => {
        const change = changes.get(mapping.uid)
        if (change !== undefined) await this.#applyTo(mapping, change)
      }),
    )
    if (changes.size > 0) this.hasApplied = true
    figures.rows.inc(rows)
    figures.deadLetters.set(this.#setup.target.deadLetters)
    if (committedMs !== null) figures.lagSeconds.set(Math.max(0, Date.now() - committedMs) / 1000)
    if (position !== null) this.#progress?.reached(position, changes.size > 0)
  }

  async #applyTo(mapping: Mapping, { isTruncated, recopy, keys }: IndexChanges): Promise<void> {
    const { target, figures, log } = this.#setup
    const { uid } = mapping
    if (recopy !== null) {
      log(`index \`${uid}\`: ${recopy}`)
      await this.#prepare(uid)
      const facts = this.#facts.get(uid)
      if (facts !== undefined) await this.#copy(mapping, facts, null)
      return
    }
    if (this.#mappings[uid]?.state !== 'ready') return
    if (isTruncated) await target.clear(uid)
    for (let at = 0; at < keys.length; ) {
      const some = keys.slice(at, at + this.#size.rows)
      at += some.length
      const documents = await this.#read(mapping, some)
      const facts = this.#facts.get(uid)
      if (documents === null || facts === undefined) return
      this.#size.note(documents.length, bytesOf(documents))
      const lines = linesOf(facts, documents)
      const present = new Set(lines.map(({ id }) => id))
      const absent = some.map(documentId).filter((id) => !present.has(id))
      await allEnded([
        target.put(uid, facts.primaryKey, lines),
        absent.length > 0 ? target.remove(uid, absent) : null,
      ])
      figures.documents.inc(lines.length)
      figures.deletions.inc(absent.length)
      this.#setup.worked?.()
    }
  }

  /** Reads documents. Returns null if the tables have changed, and then they are copied or the mapping is broken. */
  async #read(mapping: Mapping, keys: IndexChanges['keys']): Promise<readonly SourceDocument[] | null> {
    const { source } = this.#setup
    try {
      return await source.read(mapping.uid, keys)
    } catch (error) {
      if (!isSourceError(error) || error.isTransient) throw error
      await this.#prepare(mapping.uid)
      await this.#copyIfNeeded(mapping)
      if (this.#mappings[mapping.uid]?.state !== 'ready') return null
      try {
        return await source.read(mapping.uid, keys)
      } catch (again) {
        this.#failed(mapping.uid, again)
        return null
      }
    }
  }

  /**
   * Watches the size of the slot, also while the target is unreachable. Above `drop_bytes` the slot is removed: the stream
   * ends, and the next session, once the target answers, copies everything.
   */
  async #watchSlot(ended: AbortSignal): Promise<void> {
    const { source, config, figures, log } = this.#setup
    const { alarmBytes, dropBytes } = config.slot
    let overMs: number | null = null
    while (!ended.aborted) {
      await sleep(SLOT_WATCH_MS, undefined, { signal: ended }).catch(() => undefined)
      // An unreachable database is reported by the stream.
      const slot = ended.aborted ? null : await source.slotFacts().catch(() => null)
      if (slot === null) continue
      figures.lagBytes.set(slot.lagBytes)
      figures.slotBytes.set(slot.retainedBytes)
      if (slot.retainedBytes > alarmBytes)
        log(`alarm: the database keeps ${slot.retainedBytes} bytes for the slot, more than alarm_bytes`)
      // The database needs a moment to let go of log that was confirmed.
      overMs = dropBytes !== null && slot.retainedBytes > dropBytes ? (overMs ?? Date.now()) : null
      if (overMs === null || Date.now() - overMs < DROP_AFTER_MS) continue
      log(
        `the database kept ${slot.retainedBytes} bytes for the slot, more than drop_bytes: the slot is removed`,
      )
      await source.dropSlot({ isForced: true }).catch((error: Error) => log(error.message))
      return
    }
  }

  /** Looks after tables and requests. Returns 'stop' to end the session. */
  async #watch(): Promise<'continue' | 'stop'> {
    const { store, config } = this.#setup
    this.#watchedMs = Date.now()
    const requests = await store.requests()
    if (requests.isPaused) return 'stop'
    for (const mapping of config.mappings) {
      await this.#prepare(mapping.uid)
      await this.#copyIfNeeded(mapping)
    }
    for (const uid of requests.resync) {
      const mapping = config.mappings.find((one) => one.uid === uid)
      const facts = this.#facts.get(uid)
      if (mapping !== undefined && facts !== undefined) await this.#copy(mapping, facts, null)
    }
    if (requests.resync.length > 0) await store.request({ ...requests, resync: [] })
    await this.#progress?.ifDue()
    return 'continue'
  }
}
