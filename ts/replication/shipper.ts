import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Body,
  encodeBody,
  FilePublisher,
  type FilesChange,
  InlineParts,
  type LogWriter,
  type ObjectStore,
} from '../bucket/index.js'
import type { Engine } from '../engine/index.js'
import { catalogueIn, type OutgoingChanges } from '../tasks/index.js'
import { ENTRY_CHANGES_CHARS } from './limits.js'
import type { LogState } from './log-state.js'

export interface ShipperSetup {
  readonly outgoing: OutgoingChanges
  readonly engine: Pick<Engine, 'pin' | 'snapshot' | 'unpin'>
  /** Whether the catalogue has an index of that id now. Files of others may be gone. */
  readonly isLive: (id: string) => boolean
  readonly store: ObjectStore
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
    if (this.#pending === null) return false
    const { entry, body, last } = this.#pending
    const seq = await writer.append(entry, signal)
    this.#pending = null
    state.take(seq, body)
    await outgoing.sent(last, seq)
    return true
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
    const { engine, isLive, state, scratch } = this.#setup
    const copy = join(scratch, id)
    await mkdir(scratch, { recursive: true })
    // Of a process that was killed.
    await rm(copy, { recursive: true, force: true })
    if (!isLive(id)) return null
    const pin = await engine.pin(id).catch((error: unknown) => {
      if (!isLive(id)) return null
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
