import { memoryStore, never } from '../../__test__/support/memory-store.js'
import { BucketError, Log, type ObjectStore, type Repeating } from '../../ts/replication/index.js'
import { keysOfCheckpoint, readCheckpoint } from '../../ts/replication/log/checkpoint.js'
import { LogState } from '../../ts/replication/log/log-state.js'
import { type CallObserver, type ProtocolTrace, ServerTrace, TracedLog } from './protocol-trace.js'
import type { Actor, Life, World } from './world.js'

/** Access of a server to the bucket. */
export interface BucketAccess {
  readonly store: ObjectStore
  readonly repeating: Repeating
  readonly log: Log
  /** Records the server's calls to the log; null: the run records none. */
  readonly trace: ServerTrace | null
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

  /** @param trace null: the run is not recorded */
  constructor(
    world: World,
    isHealthy: () => boolean,
    readonly trace: ProtocolTrace | null,
  ) {
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
    const trace = this.trace && new ServerTrace(this.trace)
    const call = <T>(name: string, effect: () => Promise<T>, observer: CallObserver = {}): Promise<T> =>
      this.#call(actor, name, effect, observer)
    const store: ObjectStore = {
      name: 'a bucket of the simulation',
      create: (key, body) => call(`create ${key}`, () => memory.create(key, body), trace?.create(key, body)),
      put: (key, body) => call(`put ${key.split('/')[0]}`, () => memory.put(key, body)),
      get: (key, options) => call('get', () => memory.get(key, options), trace?.get()),
      async *list(prefix, options) {
        yield* await call(`list ${prefix}`, () => listed(memory, prefix, options?.after))
      },
      delete: (key) => call('delete', () => this.#delete(key)),
    }
    const repeating: Repeating = {
      wait: (ms) => actor.waits(new Promise((resolve) => world.clock(actor.life).after(ms, resolve))),
      onRetry: () => undefined,
    }
    // An actor makes one call at a time.
    const setup = { store, ...repeating, readAhead: 1, now: () => world.elapsedMs }
    return { store, repeating, trace, log: trace === null ? new Log(setup) : new TracedLog(setup, trace) }
  }

  async #delete(key: string): Promise<void> {
    if (key.startsWith('log/') && this.#memory.objects.has(key))
      this.trace?.add({ a: 'collect', slot: Number(key.slice('log/'.length)) })
    await this.#memory.delete(key)
  }

  async #call<T>(actor: Actor, name: string, effect: () => Promise<T>, observer: CallObserver): Promise<T> {
    const world = this.#world
    const isWrite = /^(create|put|delete)/.test(name)
    const perform = async (): Promise<T> => {
      observer.sent?.()
      await world.point(isWrite ? this.#network : actor.life, `the bucket is asked to ${name}`)
      if (!this.#isHealthy() && world.chance(0.03)) {
        observer.lost?.()
        throw new BucketError('no answer', 'unanswered')
      }
      if (!this.#isHealthy() && world.chance(0.02)) throw new BucketError('come back later', 'busy')
      const result = await effect()
      observer.applied?.(result)
      if (isWrite) for (const listener of this.#listeners) listener()
      await world.point(actor.life, 'the bucket answers')
      if (!this.#isHealthy() && world.chance(0.03)) {
        observer.lost?.()
        throw new BucketError('the answer is lost', 'unanswered')
      }
      observer.answered?.()
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
