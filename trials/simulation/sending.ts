import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { never } from '../../__test__/support/memory-store.js'
import { BucketError, FencedError } from '../../ts/bucket/index.js'
import {
  type Connected,
  connect,
  DamagedBaseError,
  Garbage,
  PassedOverError,
  Shipper,
  SupersededError,
} from '../../ts/replication/index.js'
import { hasAll, Waiters } from '../../ts/replication/waiters.js'
import type { OpenedTasks, OutgoingChanges } from '../../ts/tasks/index.js'
import type { Bucket, Place } from './bucket.js'
import type { Machine } from './machine.js'
import { engine } from './parts.js'
import type { Actor, Life, World } from './world.js'

export const INSTANCE = '00000000-0000-4000-8000-000000000000'

/** Whose log it is, as a server says that takes it over. */
export const about = { instanceUid: INSTANCE, address: null, engine: 'fallback', version: '0.0.0' } as const

/** A log that was taken over, and who did so. */
export interface Taken {
  readonly place: Place
  readonly actor: Actor
  readonly connected: Connected
}

/** A process, with whether its store has failed so that only a restart helps. */
interface SendingLife extends Life {
  hasFailed: boolean
}

/** Sends what a writer changes, until another one has taken over. */
export class Sending {
  readonly #world: World
  readonly #bucket: Bucket
  readonly #machine: Machine
  readonly #opened: OpenedTasks
  readonly #actor: Actor
  /** Makes bases. */
  readonly #bases: Actor
  readonly #life: SendingLife
  readonly #place: Place
  readonly #outgoing: OutgoingChanges
  readonly #waiters = new Waiters()
  /** What was taken over already; null: nothing yet. */
  #connected: Connected | null
  #shipper: Shipper | null = null
  /** Whether changes that no client waits for are made durable, and so are sent. */
  sendsAll = false
  isFenced = false

  constructor(
    parts: {
      readonly world: World
      readonly bucket: Bucket
      readonly machine: Machine
      readonly life: SendingLife
    },
    opened: OpenedTasks,
    taken: Taken | null,
  ) {
    this.#world = parts.world
    this.#bucket = parts.bucket
    this.#machine = parts.machine
    this.#life = parts.life
    this.#opened = opened
    this.#connected = taken?.connected ?? null
    this.#actor = parts.world.actor(parts.life, taken?.actor)
    this.#bases = parts.world.actor(parts.life)
    this.#bases.isOver = true
    this.#place = taken?.place ?? parts.bucket.placeOf(this.#actor)
    this.#outgoing = this.#waitedFor(opened.outgoing)
  }

  /** There may be something to send. */
  wake(): void {
    this.#actor.wake()
  }

  /** Resolves once the bucket has all that was written before; never if another server takes over. */
  async acknowledged(): Promise<void> {
    const facts = await this.#opened.outgoing.facts()
    if (this.#shipper !== null && hasAll(this.#shipper, facts)) return
    await new Promise<void>((resolve, reject) => {
      this.#waiters.add({ last: facts.last, resolve, reject })
      this.wake()
    })
  }

  /** Runs until another server has taken over. @returns whether one has; else the process ended */
  async run(): Promise<void> {
    const place = this.#place
    try {
      await this.#actor.begin()
      for (;;) {
        try {
          const connected = await this.#connect(place)
          if (connected !== null) return await this.#send(place, connected)
        } catch (error) {
          if (error instanceof FencedError || error instanceof SupersededError) return this.#end()
          this.#world.note(`sending fails: ${String(error)}`)
          // A base may be removed between two calls for it, here without any delay.
          const isOfBucket = error instanceof BucketError || error instanceof DamagedBaseError
          if (!isOfBucket && !isOfDisk(error))
            this.#world.problem(`sending fails: ${error instanceof Error ? error.stack : error}`)
          await this.#retries('connecting')
        }
      }
    } finally {
      this.#actor.isOver = true
    }
  }

  #end(): void {
    this.#world.note('another server has taken over')
    this.isFenced = true
  }

  async #connect(place: Place): Promise<Connected | null> {
    if (this.#connected !== null) {
      const connected = this.#connected
      this.#connected = null
      return connected
    }
    try {
      return await connect(place, { ...about, outgoing: this.#outgoing, takesOver: false }, never)
    } catch (error) {
      if (error instanceof PassedOverError) return null
      throw error
    }
  }

  async #send({ log, store, repeating }: Place, { writer, fence, state, base }: Connected): Promise<void> {
    const world = this.#world
    const shipper = new Shipper({
      ...{ outgoing: this.#outgoing, log, store, repeating, writer, fence, state, base },
      ...{ instanceUid: INSTANCE, indexes: () => this.#opened.tasks.indexes() },
      engine: engine(world, this.#life, this.#machine, () => true),
      // Of its own, since calls to the file system that a killed process has begun are carried out here.
      scratch: await mkdtemp(join(this.#machine.directory, 'outgoing-')),
    })
    this.#shipper = shipper
    const garbage = new Garbage({
      ...{ store, repeating, log, epoch: writer.epoch, ageMs: world.pick([0, 10]) },
      now: () => world.elapsedMs,
    })
    const share = world.pick([0.02, 0.4])
    for (;;) {
      try {
        if (world.chance(0.05)) await writer.look(never)
        if (this.#bases.isOver && (shipper.isBaseDue || world.chance(share))) await this.#beginBase(shipper)
        const isSending = await this.#waiters.ship(shipper, never)
        // What is left then is one call.
        if (this.#bases.isOver) await this.#actor.waits(shipper.baseIdle())
        if (world.chance(share)) {
          const uploads = new Set((await this.#outgoing.uploads.needed()).map(({ name }) => name))
          await garbage.sweep({ keys: shipper.references(), uploads, next: writer.next }, never)
          await this.#bucket.inspect()
        }
        if (isSending) continue
        if (this.sendsAll) {
          this.sendsAll = false
          await writer.look(never)
          await this.#outgoing.sync()
          continue
        }
        if (await shipper.refresh(0, never)) continue
        await this.#actor.idle()
      } catch (error) {
        if (!(error instanceof BucketError) && !isOfDisk(error)) throw error
        world.note(`sending fails: ${String(error)}`)
        if (String(error).includes('no more writes')) this.#life.hasFailed = true
        await this.#retries('sending')
      }
    }
  }

  /** Waits until work that failed is tried again: for time too, since a queue that has failed tells so after a pause. */
  async #retries(what: string): Promise<void> {
    if (this.#world.chance(0.2)) return this.#place.repeating.wait(100, never)
    await this.#actor.waits(this.#world.point(this.#life, `${what} is tried again`))
  }

  /** Begins a base, whose way to the bucket is work beside that of the loop. */
  async #beginBase(shipper: Shipper): Promise<void> {
    const told = (failure: Error | null): void => {
      if (failure === null) this.wake()
      else if (failure instanceof BucketError || isOfDisk(failure))
        this.#world.note(`a base fails: ${failure}`)
      else this.#world.problem(`a base fails: ${failure.stack}`)
      // It is tried again.
      this.wake()
    }
    const begun = async (): Promise<void> => {
      try {
        await shipper.beginBase(never, told)
      } finally {
        void shipper.baseIdle().then(() => {
          this.#bases.isOver = true
        })
      }
    }
    this.#bases.isOver = false
    await this.#actor.waits(this.#bases.doing(begun))
  }

  /** The same, with pages of all lengths, while each call is an event that is waited for. */
  #waitedFor(outgoing: OutgoingChanges): OutgoingChanges {
    const actor = this.#actor
    return {
      next: (chars, after) => actor.waits(outgoing.next(this.#world.pick([0, 2_000, chars]), after)),
      keepOut: (names, read) => actor.waits(outgoing.keepOut(names, read)),
      sent: (last, position) => actor.waits(outgoing.sent(last, position)),
      image: (path) => actor.waits(outgoing.image(path)),
      facts: () => actor.waits(outgoing.facts()),
      sync: () => actor.waits(outgoing.sync()),
      beforeRecord: outgoing.beforeRecord,
      position: () => actor.waits(outgoing.position()),
      uploads: {
        pathOf: (name) => this.#machine.uploadPath(name),
        hold: (names) => {
          const release = outgoing.uploads.hold(names)
          return () => actor.waits(release())
        },
        needed: () => actor.waits(outgoing.uploads.needed()),
        discard: (name) => actor.waits(outgoing.uploads.discard(name)),
      },
    }
  }
}

/** Whether the disk of the simulation has failed, which a restart mends. */
const isOfDisk = (error: unknown): boolean =>
  /disk I.O error|disk is full|the disk failed|no space|read-only|could not be recorded/.test(String(error))
