import { never } from '../../__test__/support/memory-store.js'
import { storedSets } from '../../__test__/tasks/sets.js'
import {
  type Connected,
  type CopiedStore,
  type CopyTarget,
  DamagedPartError,
  fetchUploads,
  type InstanceCopy,
  LogTruncatedError,
  type ObjectStore,
  openCopy,
  takeOver,
} from '../../ts/replication/index.js'
import type { Reached } from '../../ts/replication/log/body.js'
import {
  type Checkpoint,
  DamagedCheckpointError,
  fetchImage,
  readCheckpoint,
} from '../../ts/replication/log/checkpoint.js'
import type { DriverName } from '../../ts/sqlite/driver.js'
import { type RowChanges, replicaStorePath } from '../../ts/tasks/index.js'
import { BUCKET_POSITION_STORED_AS } from '../../ts/tasks/replicated/tables.js'
import type { Store } from '../../ts/tasks/store/store.js'
import type { Bucket, BucketAccess } from './bucket.js'
import { difference, type History, rowsOf } from './history.js'
import { identify, Machine } from './machine.js'
import { about, type Taken } from './sending.js'
import type { Actor, Life, World } from './world.js'

/** A machine that was created from the bucket. */
export interface Copied {
  readonly machine: Machine
  readonly replica: CopiedStore
  readonly copy: InstanceCopy
  readonly target: CopyTarget
  /** Last transaction of the initial image, and of the log records that the checkpoint covers. */
  readonly image: Reached
  readonly covered: Reached | null
}

export interface Parts {
  readonly world: World
  readonly bucket: Bucket
  readonly driver: DriverName | undefined
  /** All machines, including those whose process ended during their creation. */
  readonly machines: Set<Machine>
}

/** True if objects disappeared during a copy, so that it must start again. */
export const isPassedOver = (error: unknown): boolean =>
  error instanceof LogTruncatedError ||
  error instanceof DamagedPartError ||
  error instanceof DamagedCheckpointError

/** The task store of a copied machine, in memory. The image of a checkpoint is fetched into a file and loaded. */
class SimulatedStore implements CopiedStore {
  readonly #machine: Machine
  readonly #world: World
  /** null: a new machine has no store yet. */
  #store: Store | null = null
  /** The checkpoint whose image replaces the store with the next changes; null: none. */
  #next: number | null = null

  constructor(machine: Machine, world: World) {
    this.#machine = machine
    this.#world = world
  }

  get position(): number {
    return this.#next ?? (this.#store?.value(BUCKET_POSITION_STORED_AS) as number | null | undefined) ?? -1
  }

  async becomes({ seq, image }: Checkpoint, from: Pick<ObjectStore, 'get'>): Promise<void> {
    await fetchImage(image.parts, replicaStorePath(this.#machine.directory), from, never)
    this.#next = seq
  }

  async apply(changes: RowChanges, position: number): Promise<void> {
    const store = this.#current()
    const [settled] = store.transaction([() => store.applyChanges(changes, position)], true)
    if (settled?.ok === false) this.#world.problem(`changes could not be applied: ${String(settled.error)}`)
  }

  uploads: CopiedStore['uploads'] = async () => this.#current().uploads()

  async identify(): Promise<string> {
    const identity = `writer-${this.#world.below(1e9)}`
    identify(this.#current(), identity)
    return identity
  }

  async close(): Promise<void> {}

  #current(): Store {
    if (this.#store === null || this.#next !== null) this.#store = this.#machine.replica(this.#next !== null)
    this.#next = null
    return this.#store
  }
}

/** Opens a copy with the opening code of the server. @returns null if the bucket has no checkpoint */
export async function startCopy(
  { world, driver, machines }: Parts,
  access: BucketAccess,
): Promise<Copied | null> {
  const seq = await access.log.newestCheckpoint(never)
  if (seq === null) return null
  const machine = new Machine(world, driver)
  machines.add(machine)
  try {
    const { image, reached } = await readCheckpoint(access.store, seq, never)
    const setup = {
      ...{ ...access, directory: machine.directory, until: null, progress: () => undefined },
      openStore: async () => new SimulatedStore(machine, world),
    }
    const { copy, replica, target } = await openCopy(setup, never)
    // Loads the image now, since its rows are compared before the first changes.
    await replica.apply({}, replica.position)
    const { trace } = access
    if (trace !== null) {
      trace.copied(machine, copy.next - 1)
      const take = copy.take.bind(copy)
      copy.take = (seq, record) => {
        trace.add({ a: 'read', slot: seq, epoch: record.epoch })
        take(seq, record)
      }
    }
    return { machine, replica, target, copy, image: image.reached, covered: reached }
  } catch (error) {
    machine.destroy()
    throw error
  }
}

/** A follower. Its rows are compared with those of the leader after the same transaction. */
export class Following {
  readonly #parts: Parts
  readonly #history: History
  readonly #life: Life
  readonly #actor: Actor
  #copied: Copied | null = null
  /** True once the log records that were read include the state of the checkpoint's image. */
  #hasPassedImage = false
  /** Number of states that were compared with the leader's. */
  compared = 0

  constructor(parts: Parts, history: History, life: Life) {
    this.#parts = parts
    this.#history = history
    this.#life = life
    this.#actor = parts.world.actor(life)
    parts.bucket.onChange(() => this.#actor.wake())
  }

  async run(): Promise<void> {
    const { world, bucket } = this.#parts
    const access = bucket.accessFor(this.#actor)
    await this.#actor.begin()
    for (;;) {
      try {
        if (world.chance(0.02)) this.#forget()
        const isEnd = await this.#step(access)
        if (isEnd) {
          const base = await access.log.newestCheckpoint(never)
          if (base !== null && this.#copied !== null && base >= this.#copied.copy.next)
            throw new LogTruncatedError(`the records up to ${base} may be gone`)
        }
        if (isEnd) await this.#actor.idle()
      } catch (error) {
        world.note(`the follower begins anew: ${String(error)}`)
        if (!isPassedOver(error) && !(error as Error).name.includes('BucketError'))
          world.problem(`the follower fails: ${error instanceof Error ? error.stack : error}`)
        if (isPassedOver(error)) this.#forget()
        await this.#actor.waits(world.point(this.#life, 'the follower tries again'))
      }
    }
  }

  #forget(): void {
    this.#copied?.machine.destroy()
    this.#copied = null
  }

  /** @returns true at the end of the log */
  async #step(access: BucketAccess): Promise<boolean> {
    if (this.#copied === null) {
      this.#hasPassedImage = false
      this.#copied = await startCopy(this.#parts, access)
      if (this.#copied === null) return true
    }
    const { copy, target } = this.#copied
    const isEnd = await copy.advance(target, never)
    this.#parts.bucket.trace?.ask(access.trace?.server ?? 0, (position) => copy.hasReached(position))
    this.#compare(this.#copied)
    return isEnd
  }

  #compare({ copy, image, covered, machine }: Copied): void {
    const { world } = this.#parts
    const { reached } = copy.state
    const isOfImage = reached?.outbox === image.outbox
    this.#hasPassedImage ||=
      reached !== null && (isOfImage ? reached.last >= image.last : reached.outbox !== covered?.outbox)
    const { outbox, last } = reached !== null && this.#hasPassedImage ? reached : image
    const wanted = this.#history.at(outbox, last)
    if (wanted === undefined) return
    this.compared++
    const differs = difference(wanted, rowsOf(machine.disk))
    if (differs !== null) world.problem(`after transaction ${last} a follower differs: ${differs}`)
    const { stored, real } = storedSets((columns, rest) => machine.disk.rows(columns, rest))
    if (JSON.stringify(stored) !== JSON.stringify(real))
      world.problem('the sets of a follower differ from its rows')
    if (!this.#hasPassedImage) return
    for (const { id, last_batch } of machine.disk.rows(['id', 'last_batch'], 'FROM catalogue')) {
      const found = machine.lastFetched(String(id))
      if (found !== last_batch)
        world.problem(`at a follower an index ends with batch ${found}, its row with ${last_batch}`)
    }
  }

  /** Compares with the leader's data, once the leader has sent everything and the follower has read it. */
  conclude(writer: Machine): void {
    const { world } = this.#parts
    if (this.#copied === null) {
      world.problem('a follower has found no checkpoint')
      return
    }
    const differs = difference(rowsOf(writer.disk), rowsOf(this.#copied.machine.disk))
    if (differs !== null) world.problem(`at the end a follower differs: ${differs}`)
    const wanted = [...writer.written.indexes.keys()].sort().join(' ')
    this.#copied.machine.takeFetched()
    const found = this.#copied.machine.disk.rows(['id'], 'FROM catalogue ORDER BY id')
    if (wanted !== found.map(({ id }) => id).join(' '))
      world.problem('at the end a follower has other indexes')
    for (const [id, index] of writer.written.indexes)
      if (JSON.stringify(index) !== JSON.stringify(this.#copied.machine.written.indexes.get(id)))
        world.problem(`at the end the index ${id} of a follower differs`)
  }
}

/** A machine that became the leader. */
export interface Successor {
  readonly machine: Machine
  readonly taken: Taken
}

/** Creates a machine from the bucket and takes over. @returns null if the bucket is empty */
export async function createSuccessor(parts: Parts, life: Life): Promise<Successor | null> {
  const { world, bucket } = parts
  const actor = world.actor(life)
  const access = bucket.accessFor(actor)
  try {
    await actor.begin()
    for (;;) {
      let copied: Copied | null = null
      try {
        copied = await startCopy(parts, access)
        if (copied === null) return null
        const connected = await takeOverWith(access, copied)
        return { machine: copied.machine, taken: { access, actor, connected } }
      } catch (error) {
        world.note(`taking over fails: ${String(error)}`)
        copied?.machine.destroy()
        if (!isPassedOver(error) && !(error as Error).name.includes('BucketError')) throw error
        await actor.waits(world.point(life, 'taking over is tried again'))
      }
    }
  } finally {
    actor.isOver = true
  }
}

async function takeOverWith(access: BucketAccess, copied: Copied): Promise<Connected> {
  const { copy, target, replica, machine } = copied
  while (!(await copy.advance(target, never)));
  const writer = await replica.identify()
  const taken = await takeOver(
    access,
    { ...about, writer, next: copy.next, known: null },
    (seq, entry) => copy.take(seq, entry),
    never,
  )
  await copy.settle(target, never)
  const missing = await fetchUploads(await replica.uploads(), machine.directory, access.store, never)
  if (missing.length > 0) throw new DamagedPartError(`uploads are missing: ${missing.join(', ')}`)
  machine.takeFetched()
  return taken
}
