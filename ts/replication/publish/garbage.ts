/** Garbage collection in the bucket. */

import { FENCE_BYTES_MAX, GARBAGE_DELETES } from '../limits.js'
import { keysOfCheckpoint, readCheckpoint } from '../log/checkpoint.js'
import {
  checkpointKey,
  type Log,
  type ObjectStore,
  type Repeating,
  recordKey,
  repeatingStore,
  yieldKey,
} from '../object-store/index.js'

interface GarbageSetup {
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly log: Log
  /** Epoch of this writer. Objects of later writers are not touched. */
  readonly epoch: number
  /** Milliseconds for which an object must be unused before it is removed. */
  readonly ageMs: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** Objects that the writer knows to be in use. */
interface InUse {
  /** Keys of objects. */
  readonly keys: ReadonlySet<string>
  /** Names of uploads. */
  readonly uploads: ReadonlySet<string>
  /** The log record that the writer appends next. */
  readonly next: number
}

/** Marks an unused object: since when, and the next log record at that time. */
interface Mark {
  readonly at: number
  readonly next: number
}

/**
 * Removes garbage. Garbage is: log records up to the second newest checkpoint that this writer does not need, older
 * checkpoints, and objects that neither the two newest checkpoints nor later records reference. Fences are never
 * garbage: a writer that was suspended must find the number of its next record taken.
 *
 * An object is removed if it was already unused when the second newest checkpoint was made: no later state needs it.
 * This writer has appended records since. If another writer had taken over from a state with the object in use, those
 * appends would have failed.
 *
 * A sweep removes nothing until a record of this writer follows the newest checkpoint. A server that takes over reads
 * the newest checkpoint after it has written its fence. The former writer may publish two more checkpoints that this
 * server does not see, but it starts the second one after the fence and can append no record after it, so it removes
 * nothing.
 */
export class Garbage {
  readonly #setup: GarbageSetup
  readonly #marks = new Map<string, Mark>()

  constructor(setup: GarbageSetup) {
    this.#setup = setup
  }

  /** @returns the number of removed objects @throws BucketError */
  async sweep(inUse: InUse, signal: AbortSignal): Promise<number> {
    const { store, repeating, log } = this.#setup
    const checkpoints = await log.checkpoints(signal)
    const [kept, newest] = checkpoints.slice(-2)
    // A checkpoint beyond the records of this writer belongs to a writer that has taken over. Its fence must stay.
    if (kept === undefined || newest === undefined || newest + 1 >= inUse.next) return 0
    const reading = repeatingStore(store, repeating)
    const keys = new Set(inUse.keys)
    for (const seq of [kept, newest])
      for (const key of keysOfCheckpoint(await readCheckpoint(reading, seq, signal))) keys.add(key)
    const garbage: string[] = []
    for await (const key of this.#records(kept, signal)) if (!keys.has(key)) garbage.push(key)
    for (const seq of checkpoints) if (seq < kept) garbage.push(checkpointKey(seq))
    for await (const key of this.#objects({ kept, newest }, { ...inUse, keys }, signal)) garbage.push(key)
    // Yield requests to former writers.
    for await (const { key } of store.list('yield/', { signal }))
      if (key < yieldKey(this.#setup.epoch)) garbage.push(key)
    await this.#remove(garbage, signal)
    return garbage.length
  }

  /** Keys of the log records up to `last` that are not fences. */
  async *#records(last: number, signal: AbortSignal): AsyncGenerator<string> {
    const { store, log, epoch } = this.#setup
    for await (const { key, bytes } of store.list('log/', { signal })) {
      if (key > recordKey(last)) return
      const seq = Number(key.slice('log/'.length))
      // After the fence of this writer all records up to `last` are changes of this writer.
      const isChange =
        seq > epoch || bytes > FENCE_BYTES_MAX || (await log.read(seq, signal))?.kind === 'changes'
      if (isChange) yield key
    }
  }

  /** Keys of the objects that have been unused for long enough. */
  async *#objects(
    { kept, newest }: { readonly kept: number; readonly newest: number },
    { keys, uploads, next }: InUse,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const { store, epoch, ageMs, now } = this.#setup
    const seen = new Set<string>()
    const isOfUse = (key: string): boolean => {
      const [kind, name = '', third = ''] = key.split('/')
      if (kind === 'spool') return uploads.has(name)
      return keys.has(key) || (kind === 'image' ? Number(name) > newest : Number(third) > epoch)
    }
    for (const prefix of ['index/', 'image/', 'spool/'])
      for await (const { key } of store.list(prefix, { signal })) {
        if (isOfUse(key)) continue
        seen.add(key)
        const mark = this.#marks.get(key)
        if (mark === undefined) this.#marks.set(key, { at: now(), next })
        else if (now() - mark.at >= ageMs && mark.next <= kept) yield key
      }
    for (const key of this.#marks.keys()) if (!seen.has(key)) this.#marks.delete(key)
  }

  async #remove(keys: readonly string[], signal: AbortSignal): Promise<void> {
    const { store } = this.#setup
    for (let at = 0; at < keys.length; at += GARBAGE_DELETES)
      await Promise.all(keys.slice(at, at + GARBAGE_DELETES).map((key) => store.delete(key, signal)))
  }
}
