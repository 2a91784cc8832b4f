import { memoryStore, never } from '../../__test__/support/memory-store.js'
import { BucketError, Log, type ObjectStore, type Repeating } from '../../ts/replication/index.js'
import { keysOfCheckpoint, readCheckpoint } from '../../ts/replication/log/checkpoint.js'
import { LogState } from '../../ts/replication/log/log-state.js'
import type { Actor, Life, World } from './world.js'

/** Access of a server to the bucket. */
export interface BucketAccess {
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly log: Log
}

/**
 * A simulated object store behind a network: calls are delayed or lost, answers are lost, and calls of a process may
 * take effect after its end.
 */
export class Bucket {
  readonly #world: World
  readonly #isHealthy: () => boolean
  readonly #memory = memoryStore()
  /** Running calls do not end with the process that made them. */
  readonly #network: Life = { isOver: false }
  readonly #listeners = new Set<() => void>()

  constructor(world: World, isHealthy: () => boolean) {
    this.#world = world
    this.#isHealthy = isHealthy
  }

  /** Calls `listener` after each write. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Returns the access of a process to the bucket. */
  accessFor(actor: Actor): BucketAccess {
    const { world, memory } = { world: this.#world, memory: this.#memory }
    const call = <T>(name: string, effect: () => Promise<T>): Promise<T> => this.#call(actor, name, effect)
    const store: ObjectStore = {
      name: 'a bucket of the simulation',
      create: (key, body) => call(`create ${key}`, () => memory.create(key, body)),
      put: (key, body) => call(`put ${key.split('/')[0]}`, () => memory.put(key, body)),
      get: (key, options) => call('get', () => memory.get(key, options)),
      async *list(prefix, options) {
        yield* await call(`list ${prefix}`, () => listed(memory, prefix, options?.after))
      },
      delete: (key) => call('delete', () => memory.delete(key)),
    }
    const repeating: Repeating = {
      wait: (ms) => actor.waits(new Promise((resolve) => world.clock(actor.life).after(ms, resolve))),
      onRetry: () => undefined,
    }
    // An actor makes one call at a time.
    return {
      store,
      repeating,
      log: new Log({ store, ...repeating, readAhead: 1, now: () => world.elapsedMs }),
    }
  }

  async #call<T>(actor: Actor, name: string, effect: () => Promise<T>): Promise<T> {
    const world = this.#world
    const isWrite = /^(create|put|delete)/.test(name)
    const perform = async (): Promise<T> => {
      await world.point(isWrite ? this.#network : actor.life, `the bucket is asked to ${name}`)
      if (!this.#isHealthy() && world.chance(0.03)) throw new BucketError('no answer', 'unanswered')
      if (!this.#isHealthy() && world.chance(0.02)) throw new BucketError('come back later', 'busy')
      const result = await effect()
      if (isWrite) for (const listener of this.#listeners) listener()
      await world.point(actor.life, 'the bucket answers')
      if (!this.#isHealthy() && world.chance(0.03)) throw new BucketError('the answer is lost', 'unanswered')
      return result
    }
    return actor.waits(perform())
  }

  /** Checks that no object is missing for the two newest checkpoints, or for any state after the older one. */
  async inspect(): Promise<void> {
    const memory = this.#memory
    const log = new Log({ store: memory, wait: async () => undefined, onRetry: () => undefined })
    const need = (what: string, keys: readonly string[]): void => {
      for (const key of keys)
        if (!memory.objects.has(key)) this.#world.problem(`${what} needs the object ${key}, which is gone`)
    }
    const checkpoints = (await log.checkpoints(never)).slice(-2)
    const state = new LogState()
    for (const seq of checkpoints) {
      const checkpoint = await readCheckpoint(memory, seq, never)
      need(`the checkpoint ${seq}`, keysOfCheckpoint(checkpoint))
      if (seq === checkpoints[0]) state.load(checkpoint)
    }
    for (let seq = (checkpoints[0] ?? -1) + 1; ; seq++) {
      const entry = await log.read(seq, never)
      if (entry === null) {
        if (seq <= (checkpoints.at(-1) ?? -1)) this.#world.problem(`the record ${seq} is gone`)
        return
      }
      state.apply(seq, entry)
      need(`the moment of entry ${seq}`, keysIn(state))
    }
  }
}

/** Keys of the objects that hold index files. */
const keysIn = ({ files }: LogState): readonly string[] =>
  files
    .ids()
    .flatMap((id) => [...files.of(id).values()].flat())
    .flatMap(({ location }) => ('key' in location ? [location.key] : []))

async function listed(store: ObjectStore, prefix: string, after?: string) {
  const found = []
  for await (const object of store.list(prefix, after === undefined ? {} : { after })) found.push(object)
  return found
}
