import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { never } from '../../__test__/support/memory-store.js'
import { BucketError, Reachability } from '../../ts/bucket/index.js'
import { acknowledging, type Writes } from '../../ts/cli/bucket/acknowledging.js'
import {
  type Acknowledgement,
  type Connected,
  connect,
  DamagedBaseError,
  Garbage,
  PassedOverError,
  Sender,
  type Sending as SenderParts,
  Shipper,
} from '../../ts/replication/index.js'
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

export interface SendingParts {
  readonly world: World
  readonly bucket: Bucket
  readonly machine: Machine
  readonly life: SendingLife
  /** Called once another server has taken over. */
  readonly onFenced: () => void
}

/**
 * A sender of a process, over the store of the simulation and by its time. Each of its calls is the work of an actor of its
 * own, since it makes several at a time.
 */
export class Sending {
  readonly #parts: SendingParts
  readonly #opened: OpenedTasks
  readonly #place: Place
  readonly #ack: Acknowledgement
  readonly #sender: Sender
  /** Makes bases. */
  readonly #bases: Actor
  readonly #isSole: boolean
  #hasLed = false
  isFenced = false

  constructor(parts: SendingParts, opened: OpenedTasks, taken: Taken | null) {
    const { world, life, bucket } = parts
    this.#parts = parts
    this.#opened = opened
    const actor = world.actor(life, taken?.actor)
    actor.isOver = true
    this.#place = taken?.place ?? bucket.placeOf(actor)
    this.#bases = world.actor(life)
    this.#bases.isOver = true
    this.#ack = world.pick(['local', 'bucket'])
    this.#isSole = world.chance(0.2)
    const isQuiet = /no answer|come back later|the answer is lost/
    const failed = (facts: object, message: string): void => {
      const { err } = facts as { readonly err?: Error }
      world.note(`${message}: ${err ?? ''}`)
      if (String(err).includes('no more writes')) life.hasFailed = true
      // A base may be removed between two calls for it, here without any delay.
      const isExpected = err instanceof BucketError || err instanceof DamagedBaseError || isOfDisk(err)
      if (err !== undefined && !isExpected && !isQuiet.test(String(err)))
        world.problem(`${message}: ${err.stack}`)
    }
    let connected = taken?.connected ?? null
    this.#sender = new Sender({
      outgoing: opened.outgoing,
      ack: this.#ack,
      isSole: this.#isSole,
      reachability: new Reachability(() => world.elapsedMs),
      connect: () =>
        this.#doing(async () => {
          const found = connected ?? (await this.#connect())
          connected = null
          this.#hasLed = true
          return this.#sendingOf(found)
        }),
      sending: null,
      intervalMs: world.pick([500, 3_000]),
      pace: { garbageMs: world.pick([1_000, 5_000]), baseRetryMs: 1_000 },
      timing: world.idleTiming(life),
      log: { info: (_, message) => world.note(message), warn: failed, error: failed },
      onFenced: () => {
        world.note('another server has taken over')
        this.isFenced = true
        parts.onFenced()
      },
    })
    this.#sender.start()
  }

  /** What clients write to. */
  get writes(): Writes {
    return acknowledging(this.#opened, this.#sender, this.#ack, () => true)
  }

  /** Whether a write may have been taken. */
  get mayWrite(): boolean {
    return this.#hasLed || this.#isSole
  }

  /** Resolves once the bucket has all that was written before; rejects if that is not known. */
  acknowledged(): Promise<void> {
    return this.#sender.acknowledged()
  }

  /** Makes all that was written durable, so that it is sent. */
  sendAll(): Promise<void> {
    return this.#opened.outgoing.sync()
  }

  stop(): Promise<void> {
    return this.#sender.stop()
  }

  /** Carries out work as an actor of its own. */
  async #doing<T>(work: () => Promise<T>): Promise<T> {
    const actor = this.#parts.world.actor(this.#parts.life)
    try {
      return await actor.doing(work)
    } finally {
      actor.isOver = true
    }
  }

  async #connect(): Promise<Connected> {
    for (;;) {
      try {
        const claimant = { ...about, outgoing: this.#waitedFor(this.#opened.outgoing), takesOver: false }
        return await connect(this.#place, claimant, never)
      } catch (error) {
        if (!(error instanceof PassedOverError)) throw error
      }
    }
  }

  async #sendingOf({ writer, fence, state, base }: Connected): Promise<SenderParts> {
    const { world, life, machine, bucket } = this.#parts
    const { log, store, repeating } = this.#place
    const shipper = new Shipper({
      ...{
        outgoing: this.#waitedFor(this.#opened.outgoing),
        log,
        store,
        repeating,
        writer,
        fence,
        state,
        base,
      },
      ...{ instanceUid: INSTANCE, indexes: () => this.#opened.tasks.indexes() },
      engine: engine(world, life, machine, () => true),
      // Of its own, since calls to the file system that a killed process has begun are carried out here.
      scratch: await mkdtemp(join(machine.directory, 'outgoing-')),
      now: () => world.elapsedMs,
      aheadBytes: world.pick([0, 1_000_000]),
    })
    const garbage = new Garbage({
      ...{ store, repeating, log, epoch: writer.epoch, ageMs: world.pick([0, 10]) },
      now: () => world.elapsedMs,
    })
    const share = world.pick([0.02, 0.4])
    return {
      writer: {
        epoch: writer.epoch,
        get next() {
          return writer.next
        },
        look: (signal) => this.#doing(() => writer.look(signal)),
        yieldAsked: (signal) => this.#doing(() => writer.yieldAsked(signal)),
      },
      garbage: {
        sweep: (inUse, signal) =>
          this.#doing(async () => {
            const removed = await garbage.sweep(inUse, signal)
            await bucket.inspect()
            return removed
          }),
      },
      shipper: {
        get isBaseDue() {
          return shipper.isBaseDue || world.chance(share)
        },
        get newestBase() {
          return shipper.newestBase
        },
        get sent() {
          return shipper.sent
        },
        references: () => shipper.references(),
        settled: (ageMs) => shipper.settled(ageMs),
        ship: (signal) => this.#doing(() => this.#shipped(shipper, signal)),
        refresh: (ageMs, signal) => this.#doing(() => shipper.refresh(ageMs, signal)),
        ahead: (id, signal) => this.#doing(() => shipper.ahead(id, signal)),
        upload: (name, signal) => this.#doing(() => shipper.upload(name, signal)),
        beginBase: (signal, told) => this.#beginBase(shipper, signal, told),
        end: () => shipper.end(),
      },
    }
  }

  async #shipped(shipper: Shipper, signal: AbortSignal): Promise<boolean> {
    try {
      return await shipper.ship(signal)
    } finally {
      // What is left of a base whose actor is done is one call.
      if (this.#bases.isOver) await shipper.baseIdle()
    }
  }

  /** Begins a base, whose way to the bucket is work next to that of the log. */
  #beginBase(shipper: Shipper, ...given: Parameters<Shipper['beginBase']>): Promise<void> {
    if (!this.#bases.isOver) return Promise.resolve()
    this.#bases.isOver = false
    return this.#bases.doing(async () => {
      try {
        await shipper.beginBase(...given)
      } finally {
        void shipper.baseIdle().then(() => {
          this.#bases.isOver = true
        })
      }
    })
  }

  /** The same, with pages of all lengths, while each call is an event that is waited for. */
  #waitedFor(outgoing: OutgoingChanges): OutgoingChanges {
    const { world, machine } = this.#parts
    // The actor that makes the call waits.
    const waits = <T>(event: Promise<T>): Promise<T> => this.#bases.waits(event)
    return {
      next: (chars, after) => waits(outgoing.next(world.pick([0, 2_000, chars]), after)),
      keepOut: (names, read) => waits(outgoing.keepOut(names, read)),
      beforeRecord: outgoing.beforeRecord,
      sent: (last, position) => waits(outgoing.sent(last, position)),
      image: (path) => waits(outgoing.image(path)),
      facts: () => waits(outgoing.facts()),
      sync: () => waits(outgoing.sync()),
      position: () => waits(outgoing.position()),
      uploads: {
        pathOf: (name) => machine.uploadPath(name),
        hold: (names) => {
          const release = outgoing.uploads.hold(names)
          return () => waits(release())
        },
        needed: () => waits(outgoing.uploads.needed()),
        discard: (name) => waits(outgoing.uploads.discard(name)),
      },
    }
  }
}

/** Whether the disk of the simulation has failed, which a restart mends. */
const isOfDisk = (error: unknown): boolean =>
  /disk I.O error|disk is full|the disk failed|no space|read-only|could not be recorded/.test(String(error))
