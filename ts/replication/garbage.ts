/** Removes what a bucket holds of a log and nothing needs any more. */
import {
  baseKey,
  entryKey,
  type Log,
  type ObjectStore,
  type Repeating,
  repeatingStore,
  yieldKey,
} from '../bucket/index.js'
import { keysOfBase, readBase } from './base.js'
import { FENCE_BYTES_MAX, GARBAGE_DELETES } from './limits.js'

export interface GarbageSetup {
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly log: Log
  /** Of the writer. What later ones made is not touched. */
  readonly epoch: number
  /** Milliseconds for which an object has to be of no use. */
  readonly ageMs: number
  /** Milliseconds by a monotonic clock. */
  readonly now: () => number
}

/** What is in use, by what the writer knows. */
export interface InUse {
  /** Keys of objects. */
  readonly keys: ReadonlySet<string>
  /** Names of uploads. */
  readonly uploads: ReadonlySet<string>
  /** The entry that the writer appends next. */
  readonly next: number
}

/** An object that is of no use, since when, and which entry was next then. */
interface Mark {
  readonly at: number
  readonly next: number
}

/**
 * Garbage are entries up to the second newest base that have nothing which this writer needs, bases before it, and objects
 * that neither base nor anything later refers to. Fences are none, ever: a writer that slept must find the place of its next
 * entry taken.
 *
 * An object goes once it is of no use to any moment behind the second newest base, which is when it was of no use already as
 * that base was made. This writer has appended entries since: had another one taken over from a state in which the object
 * was of use, that would have failed.
 *
 * A sweep removes nothing until an entry of this writer follows the newest base. A server that takes over begins with the
 * newest base that it finds once its fence stands. The former writer may make two more that this server does not find, but
 * begins the second one after that fence, and can append no entry behind it.
 */
export class Garbage {
  readonly #setup: GarbageSetup
  readonly #marks = new Map<string, Mark>()

  constructor(setup: GarbageSetup) {
    this.#setup = setup
  }

  /** @returns number of objects that were removed @throws BucketError */
  async sweep(inUse: InUse, signal: AbortSignal): Promise<number> {
    const { store, repeating, log } = this.#setup
    const bases = await log.bases(signal)
    const [kept, newest] = bases.slice(-2)
    // A base beyond the entries of this writer is of another one, which has taken over, and whose fence must stay.
    if (kept === undefined || newest === undefined || newest + 1 >= inUse.next) return 0
    const reading = repeatingStore(store, repeating)
    const keys = new Set(inUse.keys)
    for (const seq of [kept, newest])
      for (const key of keysOfBase(await readBase(reading, seq, signal))) keys.add(key)
    const garbage: string[] = []
    for await (const key of this.#entries(kept, signal)) if (!keys.has(key)) garbage.push(key)
    for (const seq of bases) if (seq < kept) garbage.push(baseKey(seq))
    for await (const key of this.#objects({ kept, newest }, { ...inUse, keys }, signal)) garbage.push(key)
    // Requests to writers that others have taken over from since.
    for await (const { key } of store.list('yield/', { signal }))
      if (key < yieldKey(this.#setup.epoch)) garbage.push(key)
    await this.#remove(garbage, signal)
    return garbage.length
  }

  /** Keys of entries up to `last` that are no fences. */
  async *#entries(last: number, signal: AbortSignal): AsyncGenerator<string> {
    const { store, log, epoch } = this.#setup
    for await (const { key, bytes } of store.list('log/', { signal })) {
      if (key > entryKey(last)) return
      const seq = Number(key.slice('log/'.length))
      // Between its fence and its next entry, before which `last` is, there is nothing but entries of this writer.
      const isChange =
        seq > epoch || bytes > FENCE_BYTES_MAX || (await log.read(seq, signal))?.kind === 'changes'
      if (isChange) yield key
    }
  }

  /** Keys of objects that have been of no use for long enough. */
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
