import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { OutgoingChanges } from '../../tasks/index.js'
import type { PartReader } from '../follow/part-reader.js'
import {
  CHECKPOINT_BYTES,
  CHECKPOINT_RECORDS,
  MOVED_BYTES,
  REPLAY_CALL_MS_MAX,
  REPLAY_MS,
  REPLAY_PART,
  REPLAY_RECORDS_MIN,
} from '../limits.js'
import type { Reached } from '../log/body.js'
import {
  type Checkpoint,
  encodeCheckpoint,
  type ImagePart,
  keysOfFiles,
  movedFiles,
  uploadImage,
} from '../log/checkpoint.js'
import type { Fence } from '../log/fence.js'
import type { LogState } from '../log/log-state.js'
import {
  checkpointKey,
  DamagedPartError,
  type ObjectStore,
  type PartLocation,
  READ_AHEAD,
  type Repeating,
  repeated,
  repeatingStore,
} from '../object-store/index.js'
import type { UploadSender } from './uploads.js'

interface CheckpointMakerSetup {
  readonly outgoing: Pick<OutgoingChanges, 'image' | 'uploads'>
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly parts: PartReader
  readonly uploads: UploadSender
  readonly state: LogState
  readonly instanceUid: string
  readonly fence: Fence
  /** The last log record that the newest checkpoint covers; null: no checkpoint exists. */
  readonly newest: number | null
  /** Milliseconds of a monotonic clock. Default: the clock of the process. */
  readonly now?: () => number
  /** Directory for images. Exists before a checkpoint is started. */
  readonly scratch: string
}

/** Called when a checkpoint is published (null) or fails. Not called when it is cancelled. */
export type CheckpointOutcome = (failure: Error | null) => void

/** A checkpoint in progress. Index files and the log record are consistent; the image is a little newer. */
interface Making {
  readonly checkpoint: Omit<Checkpoint, 'image' | 'writtenAt'>
  readonly reached: Reached
  readonly onDone: CheckpointOutcome
  readonly signal: AbortSignal
  readonly beganAt: number
  /** Keys of the objects written for it. */
  readonly keys: string[]
  /** True if the log has every transaction of the image. */
  isSent: boolean
  /** The checkpoint to publish; null: some of its objects are not in the bucket yet. */
  complete: Checkpoint | null
}

/** A copy of the task store and the uploads that it references. */
interface Copied {
  readonly directory: string
  readonly path: string
  readonly uploads: readonly string[]
  readonly release: () => Promise<void>
}

/**
 * Makes checkpoints, one at a time, while changes are shipped. Shipping waits only for the local copy of the task
 * store, not for its upload. A checkpoint is published once all objects that it references are in the bucket and the
 * log has all transactions of its image.
 */
export class CheckpointMaker {
  readonly #setup: CheckpointMakerSetup
  readonly #store: Pick<ObjectStore, 'put' | 'get'>
  readonly #end = new AbortController()
  #newest: number
  #making: Making | null = null
  /** Calls in progress; null: the checkpoint waits for the log, or none is in progress. Never rejects. */
  #calls: Promise<void> | null = null
  /** True if the last checkpoint failed. */
  #hasFailed = false
  #objects = 0
  /** Bytes sent since the last checkpoint was started. */
  #bytes = 0
  /** Moving average of the milliseconds that a call to the store takes. */
  #callMs = 0
  /** Milliseconds that the last checkpoint took. */
  #madeMs = 0

  constructor(setup: CheckpointMakerSetup) {
    this.#setup = setup
    this.#store = repeatingStore(setup.store, setup.repeating)
    this.#newest = setup.newest ?? -1
  }

  #now(): number {
    return this.#setup.now?.() ?? performance.now()
  }

  /** The last log record that the newest checkpoint covers; -1: no checkpoint exists. */
  get newest(): number {
    return this.#newest
  }

  /** Counts bytes sent outside checkpoints. They decide when the next checkpoint is worthwhile. */
  count(bytes: number): void {
    this.#bytes += bytes
  }

  /** Notes how long an append took. Reading the record takes about as long. */
  appended(ms: number): void {
    this.#callMs += (Math.min(ms, REPLAY_CALL_MS_MAX) - this.#callMs) / 16
  }

  /** Returns true if enough was sent to make a new checkpoint worthwhile. @param next the next record to append */
  isDue(next: number): boolean {
    if (this.#making !== null) return false
    if (this.#hasFailed || this.#newest === -1 || next - this.#newest > CHECKPOINT_RECORDS) return true
    const records = next - this.#newest
    const replayMs = (records * this.#callMs) / READ_AHEAD
    if (records > REPLAY_RECORDS_MIN && replayMs >= Math.max(REPLAY_MS, this.#madeMs / REPLAY_PART))
      return true
    return this.#bytes >= Math.max(CHECKPOINT_BYTES, this.#setup.state.bytes() / 2)
  }

  /** Keys of the objects that the checkpoint in progress needs. */
  references(): readonly string[] {
    const making = this.#making
    return making === null ? [] : [...keysOfFiles(making.checkpoint.files), ...making.keys]
  }

  /**
   * Starts a checkpoint of the current state of the log, unless one is in progress. The caller must not append until
   * this resolves.
   * @param seq the last log record, which completes a state
   * @param onDone may be called before this resolves
   */
  async begin(seq: number, signal: AbortSignal, onDone: CheckpointOutcome): Promise<void> {
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
      const checkpoint = { seq, instanceUid, fence, ...state.described() }
      const both = AbortSignal.any([signal, this.#end.signal])
      const making: Making = {
        ...{ checkpoint, reached, onDone, signal: both, keys: [], isSent: false, complete: null },
        beganAt: this.#now(),
      }
      this.#making = making
      this.#hasFailed = false
      this.#bytes = 0
      this.#call(making, () => this.#fill(making, copied))
    } catch (error) {
      await discard(copied)
      throw error
    }
  }

  /** Call this when the log has the transactions up to `last`; null: all of them. */
  sent(last: number | null): void {
    const making = this.#making
    if (making === null) return
    making.isSent ||= last === null || last >= making.reached.last
    this.#publishOnce(making)
  }

  /** Resolves once no call is in progress. A checkpoint that is not published by then waits for the log. */
  async idle(): Promise<void> {
    while (this.#calls !== null) await this.#calls
  }

  /** Cancels the checkpoint in progress. No further one is made. */
  async end(): Promise<void> {
    this.#end.abort()
    await this.idle()
  }

  #call(making: Making, call: () => Promise<void>): void {
    const called = call()
      .catch((error: Error) => {
        this.#making = null
        this.#hasFailed = true
        if (!making.signal.aborted) making.onDone(error)
      })
      .finally(() => {
        this.#calls = null
        this.#publishOnce(making)
      })
    this.#calls = called
  }

  /** Uploads the objects that a checkpoint references, except index files. */
  async #fill(making: Making, copied: Copied): Promise<void> {
    const { uploads, state } = this.#setup
    const { checkpoint, reached, signal, keys } = making
    try {
      await uploads.send(copied.uploads, this.#store, signal)
      uploads.keepOnly(copied.uploads)
      const moved = await this.#moveInline(making)
      const number = this.#objects++
      const keyFor = (part: number): string => {
        const key = `image/${checkpoint.seq}/${number}-${part}`
        keys.push(key)
        return key
      }
      const parts: readonly ImagePart[] = await uploadImage(copied.path, this.#store, keyFor, signal)
      const locationOf = (location: PartLocation) => moved.get(textOf(location)) ?? null
      // Later checkpoints need not move these parts again.
      state.relocate(locationOf)
      const files = movedFiles(checkpoint.files, locationOf)
      making.complete = { ...checkpoint, files, writtenAt: Date.now(), image: { parts, reached } }
    } finally {
      await discard(copied)
    }
  }

  /**
   * Copies inline parts out of log records, since a checkpoint must not need them.
   * @returns old location as text → new
   */
  async #moveInline({ checkpoint, keys, signal }: Making): Promise<ReadonlyMap<string, PartLocation>> {
    const read = this.#setup.parts.reading(signal)
    const moved = new Map<string, PartLocation>()
    const inRecords = Object.values(checkpoint.files)
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
    for (const part of inRecords) {
      const bytes = await read(part)
      if (bytes === null) throw new DamagedPartError(`the log record ${part.location.seq} is gone`)
      if (taken.length === 0) key = `image/${checkpoint.seq}/${this.#objects++}-parts`
      moved.set(textOf(part.location), { key, offset })
      taken.push(bytes)
      offset += part.bytes
      if (offset >= MOVED_BYTES) await put()
    }
    await put()
    return moved
  }

  #publishOnce(making: Making): void {
    if (this.#calls !== null || this.#making !== making || making.complete === null || !making.isSent) return
    const checkpoint = making.complete
    this.#call(making, () => this.#publish(making, checkpoint))
  }

  async #publish({ onDone, signal, beganAt }: Making, checkpoint: Checkpoint): Promise<void> {
    const { store, repeating } = this.#setup
    const bytes = await encodeCheckpoint(checkpoint)
    // The key is the number of a log record of this epoch, and only this writer makes checkpoints of its records. So an
    // object that exists already is this checkpoint.
    await repeated(repeating, signal, () => store.create(checkpointKey(checkpoint.seq), bytes, signal))
    this.#newest = checkpoint.seq
    this.#madeMs = this.#now() - beganAt
    this.#making = null
    onDone(null)
  }
}

async function discard({ directory, release }: Copied): Promise<void> {
  await release()
  await rm(directory, { recursive: true, force: true })
}

const textOf = (location: PartLocation): string => JSON.stringify(location)
