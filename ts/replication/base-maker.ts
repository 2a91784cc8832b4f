import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  baseKey,
  DamagedPartError,
  type ObjectStore,
  type PartLocation,
  READ_AHEAD,
  type Repeating,
  repeated,
  repeatingStore,
} from '../bucket/index.js'
import type { OutgoingChanges } from '../tasks/index.js'
import { type Base, encodeBase, type ImagePart, keysOfFiles, movedFiles, uploadImage } from './base.js'
import type { Reached } from './body.js'
import type { Fence } from './fence.js'
import {
  BASE_BYTES,
  BASE_ENTRIES,
  MOVED_BYTES,
  REPLAY_CALL_MS_MAX,
  REPLAY_ENTRIES_MIN,
  REPLAY_MS,
  REPLAY_PART,
} from './limits.js'
import type { LogState } from './log-state.js'
import type { PartReader } from './part-reader.js'
import type { UploadSender } from './uploads.js'

export interface BaseMakerSetup {
  readonly outgoing: Pick<OutgoingChanges, 'image' | 'uploads'>
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly parts: PartReader
  readonly uploads: UploadSender
  readonly state: LogState
  readonly instanceUid: string
  readonly fence: Fence
  /** The entry that the newest base covers to; null: there is no base. */
  readonly newest: number | null
  /** Milliseconds by a monotonic clock. Absent: that of the process. */
  readonly now?: () => number
  /** A directory for images, which exists when a base is begun. */
  readonly scratch: string
}

/** Told once a base is published, or why it could not be made; not told of one that is ended. */
export type BaseOutcome = (failure: Error | null) => void

/** A base on its way. Files of indexes and the entry are of one moment, the image is a little newer. */
interface Making {
  readonly base: Omit<Base, 'image' | 'writtenAt'>
  readonly reached: Reached
  readonly told: BaseOutcome
  readonly signal: AbortSignal
  readonly beganAt: number
  /** Keys of objects that were made for it. */
  readonly keys: string[]
  /** Whether the log has everything that the image has. */
  isSent: boolean
  /** What is published; null: something of it is not in the bucket yet. */
  whole: Base | null
}

/** A copy of the task store, and the uploads that it names. */
interface Copied {
  readonly directory: string
  readonly path: string
  readonly uploads: readonly string[]
  readonly release: () => Promise<void>
}

/**
 * Makes bases, one at a time, beside what is shipped: only the copy of the task store holds that up, not its way to the
 * bucket. A base is published once everything that it names is there, and everything that its image has is in the log.
 */
export class BaseMaker {
  readonly #setup: BaseMakerSetup
  readonly #store: Pick<ObjectStore, 'put' | 'get'>
  readonly #end = new AbortController()
  #newest: number
  #making: Making | null = null
  /** Calls under way for the base; null: it waits for the log, or there is none. Never rejects. */
  #calls: Promise<void> | null = null
  /** Whether the last base that was begun could not be made. */
  #hasFailed = false
  #objects = 0
  /** Bytes that were sent since the last base was begun. */
  #bytes = 0
  /** Milliseconds that the store takes for a call, the mean of those of late. */
  #callMs = 0
  /** Milliseconds that the last base took to be made. */
  #madeMs = 0

  constructor(setup: BaseMakerSetup) {
    this.#setup = setup
    this.#store = repeatingStore(setup.store, setup.repeating)
    this.#newest = setup.newest ?? -1
  }

  #now(): number {
    return this.#setup.now?.() ?? performance.now()
  }

  /** The entry that the newest base covers to; -1: there is no base. */
  get newest(): number {
    return this.#newest
  }

  /** Counts what is sent beside bases, which tells when the next one pays. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /** Counts an appended entry, which took that long. A reader of the log has to wait for it about as long. */
  appended(ms: number): void {
    this.#callMs += (Math.min(ms, REPLAY_CALL_MS_MAX) - this.#callMs) / 16
  }

  /** Whether so much was sent since the last base that the next one pays. @param next the entry that is appended next */
  isDue(next: number): boolean {
    if (this.#making !== null) return false
    if (this.#hasFailed || this.#newest === -1 || next - this.#newest > BASE_ENTRIES) return true
    const entries = next - this.#newest
    const replayMs = (entries * this.#callMs) / READ_AHEAD
    if (entries > REPLAY_ENTRIES_MIN && replayMs >= Math.max(REPLAY_MS, this.#madeMs / REPLAY_PART))
      return true
    return this.#bytes >= Math.max(BASE_BYTES, this.#setup.state.bytes() / 2)
  }

  /** Keys of objects that the base on its way needs. */
  references(): readonly string[] {
    const making = this.#making
    return making === null ? [] : [...keysOfFiles(making.base.files), ...making.keys]
  }

  /**
   * Begins a base of what the log tells now, unless one is on its way. Nothing may be appended until it resolves.
   * @param seq the last entry, which closes a state
   * @param told may be called before this resolves
   */
  async begin(seq: number, signal: AbortSignal, told: BaseOutcome): Promise<void> {
    if (this.#making !== null) return
    if (seq === this.#newest) {
      this.#hasFailed = false
      return
    }
    const { outgoing, state, fence, instanceUid, scratch } = this.#setup
    const directory = join(scratch, `image-${this.#objects++}`)
    await mkdir(directory)
    const path = join(directory, 'tasks.db')
    const uploads = (await outgoing.uploads.needed()).map(({ name }) => name)
    const copied: Copied = { directory, path, uploads, release: outgoing.uploads.hold(uploads) }
    try {
      const reached = await outgoing.image(path)
      const base = { seq, instanceUid, fence, ...state.described() }
      const both = AbortSignal.any([signal, this.#end.signal])
      const making: Making = {
        ...{ base, reached, told, signal: both, keys: [], isSent: false, whole: null },
        beganAt: this.#now(),
      }
      this.#making = making
      this.#hasFailed = false
      this.#bytes = 0
      this.#call(making, () => this.#fill(making, copied))
    } catch (error) {
      await letGo(copied)
      throw error
    }
  }

  /** The log has the transactions up to `last`; null: all of them. */
  sent(last: number | null): void {
    const making = this.#making
    if (making === null) return
    making.isSent ||= last === null || last >= making.reached.last
    this.#publishOnce(making)
  }

  /** Resolves once no calls are under way: a base that is not published by then waits for the log. */
  async idle(): Promise<void> {
    while (this.#calls !== null) await this.#calls
  }

  /** Ends the base on its way; none is made any more. */
  async end(): Promise<void> {
    this.#end.abort()
    await this.idle()
  }

  #call(making: Making, call: () => Promise<void>): void {
    const called = call()
      .catch((error: Error) => {
        this.#making = null
        this.#hasFailed = true
        if (!making.signal.aborted) making.told(error)
      })
      .finally(() => {
        this.#calls = null
        this.#publishOnce(making)
      })
    this.#calls = called
  }

  /** Sends what a base names, other than files of indexes. */
  async #fill(making: Making, copied: Copied): Promise<void> {
    const { uploads, state } = this.#setup
    const { base, reached, signal, keys } = making
    try {
      await uploads.send(copied.uploads, this.#store, signal)
      const moved = await this.#moveInline(making)
      const number = this.#objects++
      const keyFor = (part: number): string => {
        const key = `image/${base.seq}/${number}-${part}`
        keys.push(key)
        return key
      }
      const parts: readonly ImagePart[] = await uploadImage(copied.path, this.#store, keyFor, signal)
      const locationOf = (location: PartLocation) => moved.get(textOf(location)) ?? null
      // Later bases need not move these parts again.
      state.relocate(locationOf)
      const files = movedFiles(base.files, locationOf)
      making.whole = { ...base, files, writtenAt: Date.now(), image: { parts, reached } }
    } finally {
      await letGo(copied)
    }
  }

  /** Copies parts out of entries, which a base must not need. @returns location, as text → where the part is now */
  async #moveInline({ base, keys, signal }: Making): Promise<ReadonlyMap<string, PartLocation>> {
    const read = this.#setup.parts.reading(signal)
    const moved = new Map<string, PartLocation>()
    const inEntries = Object.values(base.files)
      .flatMap((files) => Object.values(files).flat())
      .flatMap(({ location, ...part }) => ('key' in location ? [] : [{ ...part, location }]))
      .sort((one, other) => one.location.seq - other.location.seq)
    let taken: Uint8Array[] = []
    let offset = 0
    let key = ''
    const put = async (): Promise<void> => {
      if (taken.length === 0) return
      keys.push(key)
      await this.#store.put(key, Buffer.concat(taken), signal)
      taken = []
      offset = 0
    }
    for (const part of inEntries) {
      const bytes = await read(part)
      if (bytes === null) throw new DamagedPartError(`the entry ${part.location.seq} is gone`)
      if (taken.length === 0) key = `image/${base.seq}/${this.#objects++}-parts`
      moved.set(textOf(part.location), { key, offset })
      taken.push(bytes)
      offset += part.bytes
      if (offset >= MOVED_BYTES) await put()
    }
    await put()
    return moved
  }

  #publishOnce(making: Making): void {
    if (this.#calls !== null || this.#making !== making || making.whole === null || !making.isSent) return
    const base = making.whole
    this.#call(making, () => this.#publish(making, base))
  }

  async #publish({ told, signal, beganAt }: Making, base: Base): Promise<void> {
    const { store, repeating } = this.#setup
    const bytes = await encodeBase(base)
    // Keys are numbers of entries, and only the writer of this epoch makes bases of them: one that is there is this one.
    await repeated(repeating, signal, () => store.create(baseKey(base.seq), bytes, signal))
    this.#newest = base.seq
    this.#madeMs = this.#now() - beganAt
    this.#making = null
    told(null)
  }
}

async function letGo({ directory, release }: Copied): Promise<void> {
  await release()
  await rm(directory, { recursive: true, force: true })
}

const textOf = (location: PartLocation): string => JSON.stringify(location)
