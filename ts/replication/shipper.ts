import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Body,
  baseKey,
  DamagedPartError,
  encodeBody,
  FilePublisher,
  type FilesChange,
  InlineParts,
  type Log,
  type LogWriter,
  type ObjectStore,
  type PartPlace,
} from '../bucket/index.js'
import type { Engine } from '../engine/index.js'
import { catalogueIn, type OutgoingChanges } from '../tasks/index.js'
import { type Base, encodeBase, uploadImage } from './base.js'
import { ENTRY_CHANGES_CHARS } from './limits.js'
import type { LogState } from './log-state.js'
import { partReader } from './part-reader.js'

export interface ShipperSetup {
  readonly outgoing: OutgoingChanges
  readonly engine: Pick<Engine, 'pin' | 'snapshot' | 'unpin'>
  /** Uid and id of the indexes that there are now. Files of others may be gone. */
  readonly indexes: () => readonly { readonly uid: string; readonly id: string }[]
  readonly store: ObjectStore
  readonly log: Log
  readonly writer: LogWriter
  /** What the log tells up to its end. */
  readonly state: LogState
  /** A directory of the same file system as the indexes, for copies of commits. */
  readonly scratch: string
}

/** An entry that is not known to be in the log yet, and what becomes of it then. */
interface Pending {
  readonly entry: ReturnType<LogWriter['entry']>
  readonly body: Body
  /** The last transaction that it holds. */
  readonly last: number
}

/**
 * Sends what the task store and the indexes have become, in the order of transactions: first the files of indexes, then
 * the entry that names them beside the rows. So whoever reads the log finds each index at least as new as its tasks.
 */
export class Shipper {
  readonly #setup: ShipperSetup
  readonly #publisher: FilePublisher
  #objects = 0
  #pending: Pending | null = null
  /** A base whose image holds transactions that were not sent yet. */
  #base: { readonly base: Base; readonly last: number } | null = null
  #sent = 0

  constructor(setup: ShipperSetup) {
    this.#setup = setup
    const { epoch } = setup.writer
    this.#publisher = new FilePublisher(
      setup.store,
      (id, name, from, bytes) => `index/${id}/${epoch}/${this.#objects++}-${name}.${from}-${from + bytes}`,
    )
  }

  /**
   * Sends the oldest changes that wait.
   * @returns whether there were any
   * @throws FencedError: another writer has taken over; BucketError: the store refuses. After the latter it may be called
   * again, and then sends the same bytes
   */
  async ship(signal: AbortSignal): Promise<boolean> {
    const { writer, state, outgoing } = this.#setup
    this.#pending ??= await this.#next(signal)
    if (this.#base !== null && (this.#pending === null || this.#sent >= this.#base.last))
      await this.#publishBase(this.#base.base, signal)
    if (this.#pending === null) return false
    const { entry, body, last } = this.#pending
    const seq = await writer.append(entry, signal)
    this.#pending = null
    state.take(seq, body)
    await outgoing.sent(last, seq)
    this.#sent = last
    return true
  }

  /**
   * Makes a base of what the log tells now, and of indexes that no entry tells of. A later call of `ship` publishes it:
   * its image is newer than the entry it is named by, and whoever reads it has to find what the image holds in the log.
   */
  async makeBase(signal: AbortSignal): Promise<void> {
    const { writer, state, outgoing, store, scratch } = this.#setup
    if (this.#pending !== null) await this.ship(signal)
    const seq = writer.next - 1
    await mkdir(scratch, { recursive: true })
    const path = join(scratch, 'image')
    await rm(path, { force: true })
    try {
      const last = await outgoing.image(path)
      for (const { uid, id } of this.#setup.indexes())
        if (state.files.of(id).size === 0) await this.#adopt(uid, id, signal)
      await this.#moveInline(seq, signal)
      const described = state.described()
      const image = await uploadImage(path, store, (number) => `image/${seq}/${number}`, signal)
      this.#base = { base: { seq, image, ...described }, last }
    } finally {
      await rm(path, { force: true })
    }
  }

  async #publishBase(base: Base, signal: AbortSignal): Promise<void> {
    // Only the writer of this epoch makes a base of this entry, so one that is there is its own.
    await this.#setup.store.create(baseKey(base.seq), encodeBase(base), signal)
    this.#base = null
  }

  /** Uploads an index that no entry tells of. */
  async #adopt(uid: string, id: string, signal: AbortSignal): Promise<void> {
    const { state } = this.#setup
    const change = await this.#publish(id, new InlineParts(0), signal)
    if (change === null) return
    state.adopt(uid, id, new Map())
    state.files.apply(0, id, change)
  }

  /** Copies parts out of entries, which a base must not need. */
  async #moveInline(seq: number, signal: AbortSignal): Promise<void> {
    const { state, log, store } = this.#setup
    const read = partReader(log, store, signal)
    const places = new Map<string, PartPlace>()
    const key = `image/${seq}/parts`
    const taken: Uint8Array[] = []
    let at = 0
    for (const id of state.ids())
      for (const part of [...state.files.of(id).values()].flat()) {
        if ('key' in part.place) continue
        const bytes = await read(part)
        if (bytes === null) throw new DamagedPartError(`the entry ${part.place.seq} is gone`)
        places.set(placeText(part.place), { key, at })
        taken.push(bytes)
        at += part.bytes
      }
    if (taken.length > 0) await store.put(key, Buffer.concat(taken), signal)
    state.relocate((place) => places.get(placeText(place)) ?? null)
  }

  async #next(signal: AbortSignal): Promise<Pending | null> {
    const { outgoing, writer } = this.#setup
    const page = await outgoing.next(ENTRY_CHANGES_CHARS)
    if (page === null) return null
    const inline = new InlineParts()
    const files: Record<string, FilesChange> = {}
    for (const [, id] of catalogueIn(page.changes).written) {
      const change = await this.#publish(id, inline, signal)
      if (change !== null) files[id] = change
    }
    const body = { rows: JSON.stringify(page.changes), files, inline: inline.joined() }
    return { entry: writer.entry(encodeBody(body)), body, last: page.last }
  }

  /** null: a transaction that was not sent yet deletes the index. */
  async #publish(id: string, inline: InlineParts, signal: AbortSignal): Promise<FilesChange | null> {
    const { engine, indexes, state, scratch } = this.#setup
    const isLive = (): boolean => indexes().some((index) => index.id === id)
    const copy = join(scratch, id)
    await mkdir(scratch, { recursive: true })
    // Of a process that was killed.
    await rm(copy, { recursive: true, force: true })
    if (!isLive()) return null
    const pin = await engine.pin(id).catch((error: unknown) => {
      if (!isLive()) return null
      throw error
    })
    if (pin === null) return null
    try {
      await engine.snapshot(pin, copy)
      return await this.#publisher.publish(id, copy, state.files.of(id), inline, signal)
    } finally {
      await engine.unpin(pin)
      await rm(copy, { recursive: true, force: true })
    }
  }
}

const placeText = (place: PartPlace): string => JSON.stringify(place)
