import { never } from '../../__test__/support/memory-store.js'
import {
  type Connected,
  DamagedPartError,
  Election,
  fetchUploads,
  LogTruncatedError,
  stand,
} from '../../ts/replication/index.js'
import type { BucketAccess } from './bucket.js'
import { type Copied, isPassedOver, type Parts, type Successor, startCopy } from './copying.js'
import { about } from './sending.js'
import type { Actor, Life } from './world.js'

/** A rule that a trial breaks, to show that the checks notice it. */
export type Weakness =
  /** A candidate stands at the end of the log without having read it to its end. */
  'stands unread'

export interface CandidateSetup {
  readonly name: string
  readonly weakness: Weakness | null
  /** Share of polls in which the leader is suspected without a reason. */
  readonly isHasty: () => boolean
  readonly onElected: (successor: Successor) => void
}

/** A follower that becomes the leader, with the code of the server for following, electing and standing. */
export class StandingFollower {
  readonly #parts: Parts
  readonly #life: Life
  readonly #setup: CandidateSetup
  readonly #actor: Actor
  #copied: Copied | null = null

  constructor(parts: Parts, life: Life, setup: CandidateSetup) {
    this.#parts = parts
    this.#life = life
    this.#setup = setup
    this.#actor = parts.world.actor(life)
  }

  get name(): string {
    return this.#setup.name
  }

  /** True if it has a copy, so that it can stand. */
  get isReady(): boolean {
    return this.#copied !== null
  }

  async run(): Promise<void> {
    const { world, bucket } = this.#parts
    const access = bucket.accessFor(this.#actor)
    const timing = world.idleTiming(this.#life)
    const election = new Election({
      ...{ store: access.store, repeating: access.repeating, identity: this.#setup.name, address: null },
      ...{ timing, isAnswering: async () => false },
      log: { info: this.#note, warn: this.#note, error: this.#note },
    })
    await this.#actor.begin()
    for (;;) {
      try {
        this.#copied ??= await startCopy(this.#parts, access)
        if (this.#copied !== null && (await this.#poll(access, this.#copied, election))) return
      } catch (error) {
        world.note(`the candidate fails: ${String(error)}`)
        if (!isPassedOver(error) && !(error as Error).name.includes('BucketError'))
          world.problem(`the candidate fails: ${error instanceof Error ? error.stack : error}`)
        if (isPassedOver(error)) this.#forget()
      }
      await this.#actor.waits(new Promise<void>((resolve) => void timing.after(1_000, resolve)))
    }
  }

  readonly #note = (_: object, message: string): void => this.#parts.world.note(message)

  #forget(): void {
    this.#copied?.machine.destroy()
    this.#copied = null
  }

  /** @returns true if it has become the leader */
  async #poll(access: BucketAccess, copied: Copied, election: Election): Promise<boolean> {
    const { world } = this.#parts
    const { copy, target } = copied
    const isUnread = this.#setup.weakness === 'stands unread' && world.chance(0.8)
    if (!isUnread && !(await copy.advance(target, never))) return false
    const base = await access.log.newestCheckpoint(never)
    if (base !== null && base >= copy.next)
      throw new LogTruncatedError(`the records up to ${base} may be gone`)
    if (copy.fence === null) return false
    const { position, fence, handedTo } = copy
    const polled = { position, fence, handedTo, sentBy: copy.state.reached?.outbox ?? null }
    if (!(await election.polled(polled, never)) && !this.#setup.isHasty()) return false
    let { next } = copy
    if (isUnread) while ((await access.log.read(next, never)) !== null) next++
    return this.#stand(access, copied, next)
  }

  async #stand(access: BucketAccess, copied: Copied, next: number): Promise<boolean> {
    const { copy, replica, machine } = copied
    const writer = await replica.identify()
    const known = { state: copy.state, base: copy.base }
    const connected = await stand(access, { ...about, writer, next, known }, never)
    if (connected === null) return false
    await this.#lead(access, machine, replica, connected)
    return true
  }

  async #lead(
    access: BucketAccess,
    machine: Copied['machine'],
    replica: Copied['replica'],
    connected: Connected,
  ): Promise<void> {
    const missing = await fetchUploads(await replica.uploads(), machine.directory, access.store, never)
    if (missing.length > 0) throw new DamagedPartError(`uploads are missing: ${missing.join(', ')}`)
    machine.takeFetched()
    this.#actor.isOver = true
    this.#setup.onElected({ machine, taken: { access, actor: this.#actor, connected } })
  }
}
