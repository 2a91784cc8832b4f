import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { never } from '../../__test__/support/memory-store.js'
import {
  type Acknowledgement,
  BucketError,
  beat,
  type Connected,
  connect,
  DamagedCheckpointError,
  Garbage,
  LogTruncatedError,
  Reachability,
  Sender,
  type Sending as SenderParts,
  Shipper,
} from '../../ts/replication/index.js'
import { acknowledging, type Writes } from '../../ts/replication/lead/acknowledging.js'
import type { OpenedTasks, OutboxFacts, OutgoingChanges } from '../../ts/tasks/index.js'
import type { Bucket, BucketAccess } from './bucket.js'
import type { Machine } from './machine.js'
import { engine } from './parts.js'
import type { Actor, Life, World } from './world.js'

export const INSTANCE = '00000000-0000-4000-8000-000000000000'

/** The identity of the log for a server that takes it over. */
export const about = {
  instanceUid: INSTANCE,
  address: null,
  engine: 'fallback',
  version: '0.0.0',
  heartbeats: true,
} as const

/** A log after a takeover, and the actor that took it over. */
export interface Taken {
  readonly access: BucketAccess
  readonly actor: Actor
  readonly connected: Connected
}

/** A process. `hasFailed`: its store has failed, so that only a restart helps. */
interface SendingLife extends Life {
  hasFailed: boolean
}

export interface SendingParts {
  readonly world: World
  readonly bucket: Bucket
  readonly machine: Machine
  readonly life: SendingLife
  /** True if the leader sends heartbeats. */
  readonly isBeating: boolean
  /** Chooses a candidate for a handover; null: there is none. */
  readonly successor: () => string | null
  /** Called once another server has taken over. */
  readonly onFenced: () => void
}

/**
 * The sender of a process, with the simulated store and time. Each call runs as its own actor, because several calls
 * run at the same time.
 */
export class Sending {
  readonly #parts: SendingParts
  readonly #opened: OpenedTasks
  readonly #access: BucketAccess
  readonly #ack: Acknowledgement
  readonly #sender: Sender
  /** The actor that makes checkpoints. */
  readonly #checkpoints: Actor
  readonly #isSole: boolean
  #hasLed = false
  /** The last call for the stored transactions. */
  #facts: Promise<OutboxFacts> | null = null
  isFenced = false

  constructor(parts: SendingParts, opened: OpenedTasks, taken: Taken | null) {
    const { world, life, bucket } = parts
    this.#parts = parts
    this.#opened = opened
    const actor = world.actor(life, taken?.actor)
    actor.isOver = true
    this.#access = taken?.access ?? bucket.accessFor(actor)
    this.#checkpoints = world.actor(life)
    this.#checkpoints.isOver = true
    this.#ack = world.pick(['local', 'bucket'])
    this.#isSole = world.chance(0.2)
    const isQuiet = /no answer|come back later|the answer is lost/
    const failed = (facts: object, message: string): void => {
      const { err } = facts as { readonly err?: Error }
      world.note(`${message}: ${err ?? ''}`)
      if (String(err).includes('no more writes')) life.hasFailed = true
      // A checkpoint may be removed between two calls for it, as garbage is not delayed here.
      const isExpected = err instanceof BucketError || err instanceof DamagedCheckpointError || isOfDisk(err)
      if (err !== undefined && !isExpected && !isQuiet.test(String(err)))
        world.problem(`${message}: ${err.stack}`)
    }
    const { trace } = bucket
    if (trace !== null && this.#access.trace !== null) {
      const server = trace.serverOf(parts.machine, taken?.access.trace?.server ?? undefined)
      if (taken === null) trace.add({ a: 'restart', s: server })
      this.#access.trace.server = server
    }
    let connected = taken?.connected ?? null
    this.#sender = new Sender({
      outgoing: this.#noting(opened.outgoing),
      ack: this.#ack,
      isSole: this.#isSole,
      reachability: new Reachability(() => world.elapsedMs),
      connect: () =>
        this.#asActor(async () => {
          const found = connected ?? (await this.#connect())
          connected = null
          this.#hasLed = true
          return this.#sendingOf(found)
        }),
      sending: null,
      intervalMs: world.pick([500, 3_000]),
      pace: { garbageMs: world.pick([1_000, 5_000]), checkpointRetryMs: 1_000 },
      timing: world.idleTiming(life),
      handover: {
        stopBatches: () => opened.stop(),
        successor: async () => {
          const id = parts.successor()
          return id === null ? null : { id, address: id, nudge: () => undefined }
        },
      },
      log: { info: (_, message) => world.note(message), warn: failed, error: failed },
      onFenced: () => {
        world.note('another server has taken over')
        this.isFenced = true
        this.#access.trace?.add({ a: 'fenced' })
        parts.onFenced()
      },
    })
    this.#sender.start()
  }

  /** The interface for writes of clients. */
  get writes(): Writes {
    return acknowledging(this.#opened, this.#sender, this.#ack, () => true)
  }

  /** True if a write may have been accepted. */
  get mayWrite(): boolean {
    return this.#hasLed || this.#isSole
  }

  /** Resolves once the bucket has all earlier writes. Rejects if that is unknown. */
  async acknowledged(): Promise<void> {
    const done = this.#sender.acknowledged()
    const facts = this.#facts
    await done
    if (facts !== null) this.#access.trace?.add({ a: 'ack', last: (await facts).last })
  }

  /** Makes all writes durable. Resolves once they are in the bucket. */
  async sendAll(): Promise<void> {
    await this.#opened.outgoing.sync()
    await this.#sender.acknowledged()
  }

  /** Lets a candidate take over. */
  handOver(): ReturnType<Sender['handOver']> {
    return this.#sender.handOver()
  }

  stop(): Promise<void> {
    return this.#sender.stop()
  }

  /** Notes which transactions are stored, for the trace. */
  #noting(outgoing: OutgoingChanges): OutgoingChanges {
    const facts = async (): Promise<OutboxFacts> => {
      const found = await outgoing.facts()
      this.#access.trace?.issues(found.last)
      return found
    }
    return {
      ...outgoing,
      facts: () => {
        this.#facts = facts()
        return this.#facts
      },
    }
  }

  /** Runs work as a separate actor. */
  async #asActor<T>(work: () => Promise<T>): Promise<T> {
    const actor = this.#parts.world.actor(this.#parts.life)
    try {
      return await actor.run(work)
    } finally {
      actor.isOver = true
    }
  }

  async #connect(): Promise<Connected> {
    for (;;) {
      try {
        const claimant = { ...about, outgoing: this.#awaited(this.#opened.outgoing), takesOver: false }
        return await connect(this.#access, claimant, never)
      } catch (error) {
        if (!(error instanceof LogTruncatedError)) throw error
      }
    }
  }

  async #sendingOf({ writer, fence, state, base }: Connected): Promise<SenderParts> {
    const { world, life, machine, bucket } = this.#parts
    const { log, store, repeating } = this.#access
    const shipper = new Shipper({
      ...{
        outgoing: this.#awaited(this.#opened.outgoing),
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
      // A separate directory for each process, because file system calls of a killed process still complete here.
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
      beat: this.#parts.isBeating
        ? (count, signal) => this.#asActor(() => beat({ store, repeating }, writer.epoch, count, signal))
        : null,
      writer: {
        epoch: writer.epoch,
        get next() {
          return writer.next
        },
        look: (signal) => this.#asActor(() => writer.look(signal)),
        yieldRequest: (signal) => this.#asActor(() => writer.yieldRequest(signal)),
      },
      garbage: {
        sweep: (inUse, signal) =>
          this.#asActor(async () => {
            const removed = await garbage.sweep(inUse, signal)
            await bucket.inspect()
            return removed
          }),
      },
      shipper: {
        get isCheckpointDue() {
          return shipper.isCheckpointDue || world.chance(share)
        },
        get newestCheckpoint() {
          return shipper.newestCheckpoint
        },
        get sent() {
          return shipper.sent
        },
        references: () => shipper.references(),
        settled: (ageMs) => shipper.settled(ageMs),
        ship: (signal) => this.#asActor(() => this.#shipped(shipper, signal)),
        refresh: (ageMs, signal) => this.#asActor(() => shipper.refresh(ageMs, signal)),
        ahead: (id, signal) => this.#asActor(() => shipper.ahead(id, signal)),
        upload: (name, signal) => this.#asActor(() => shipper.upload(name, signal)),
        beginCheckpoint: (signal, done) => this.#beginCheckpoint(shipper, signal, done),
        end: () => shipper.end(),
        handOver: (to, signal) => this.#asActor(() => shipper.handOver(to, signal)),
      },
    }
  }

  async #shipped(shipper: Shipper, signal: AbortSignal): Promise<boolean> {
    try {
      return await shipper.ship(signal)
    } finally {
      // If the actor of a checkpoint is done, at most one call of it is left.
      if (this.#checkpoints.isOver) await shipper.checkpointIdle()
    }
  }

  /** Starts a checkpoint. It is uploaded concurrently to the log. */
  #beginCheckpoint(shipper: Shipper, ...given: Parameters<Shipper['beginCheckpoint']>): Promise<void> {
    if (!this.#checkpoints.isOver) return Promise.resolve()
    this.#checkpoints.isOver = false
    return this.#checkpoints.run(async () => {
      try {
        await shipper.beginCheckpoint(...given)
      } finally {
        void shipper.checkpointIdle().then(() => {
          this.#checkpoints.isOver = true
        })
      }
    })
  }

  /** Wraps `outgoing`: pages have random lengths, and each call is awaited as an event. */
  #awaited(outgoing: OutgoingChanges): OutgoingChanges {
    const { world, machine } = this.#parts
    // The actor that makes the call waits.
    const waits = <T>(event: Promise<T>): Promise<T> => this.#checkpoints.waits(event)
    return {
      next: (chars, after) => waits(outgoing.next(world.pick([0, 2_000, chars]), after)),
      holdCommits: (names, read) => waits(outgoing.holdCommits(names, read)),
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

/** True if the simulated disk has failed, which a restart repairs. */
const isOfDisk = (error: unknown): boolean =>
  /disk I.O error|disk is full|the disk failed|no space|read-only|could not be recorded/.test(String(error))
