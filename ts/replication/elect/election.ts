import { systemTiming, type Timing } from '../interruptible-sleep.js'
import type { Fence } from '../log/fence.js'
import { LOG_FORMAT } from '../log/format.js'
import type { ObjectStore, Repeating } from '../object-store/index.js'
import type { SenderLog } from '../publish/sender-setup.js'
import { announce, recentCandidates } from './announcements.js'
import { heartbeatOf } from './heartbeat.js'
import { ANNOUNCE_MS, HEARTBEAT_MS, RANK_MS } from './limits.js'
import { rankOf } from './rank.js'
import { Suspicion } from './suspicion.js'

interface ElectionSetup {
  readonly store: ObjectStore
  readonly repeating: Repeating
  /** Identity of this data directory. */
  readonly identity: string
  /** HTTP address of this server; null: it has none. */
  readonly address: string | null
  /** Returns true if the server at an address answers as leader, and has not lost the bucket. */
  readonly isAnswering: (address: string) => Promise<boolean>
  readonly log: SenderLog
  /** Default: clock of the process. */
  readonly timing?: Pick<Timing, 'now'>
}

/** Result of a poll that reached the end of the log. */
interface Polled {
  /** The last log record. */
  readonly position: number
  /** The last fence. */
  readonly fence: Fence
  /** Identity of the directory that has sent the last changes in the log; null: there are none. */
  readonly sentBy: string | null
  /** Identity of the directory that the last record names as successor; null or absent: none. */
  readonly handedTo?: string | null
  /** When the leader last gave a hint, if it has stopped to; null or absent: not known. */
  readonly hintedAt?: number | null
}

/**
 * Decides when a follower stands for leadership. Safety does not depend on it: the fence alone decides who leads.
 *
 * A candidate suspects a leader that neither appended a record nor changed its heartbeat for a while, and does not
 * answer at its address, or answers that it has lost the bucket. Then it waits, longer for each candidate before it, and stands unless a sign of life came.
 */
export class Election {
  readonly #setup: ElectionSetup
  readonly #timing: Pick<Timing, 'now'>
  readonly #suspicion = new Suspicion()
  #announcedAt: number | null = null
  #heartbeatReadAt: number | null = null
  /** Time from which this server stands; null: the leader is not suspected. */
  #standsFrom: number | null = null

  constructor(setup: ElectionSetup) {
    this.#setup = setup
    this.#timing = setup.timing ?? systemTiming
  }

  /**
   * Call it after each poll that met the end of the log.
   * @returns true if this server should stand now
   * @throws BucketError
   */
  async polled(
    { position, fence, sentBy, handedTo, hintedAt }: Polled,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (handedTo === this.#setup.identity) return true
    const now = this.#timing.now()
    if (this.#announcedAt === null || now - this.#announcedAt >= ANNOUNCE_MS) {
      await this.announce(position, signal)
      this.#announcedAt = now
    }
    // A leader that sends no heartbeats may be idle for any time.
    if (fence.heartbeats !== true) return false
    // A copy of this directory leads and has sent changes. Both would number their transactions alike. If it has sent
    // none, the fence may come from a failed promotion of this server.
    if (fence.writer === this.#setup.identity && sentBy === fence.writer) return false
    if (this.#heartbeatReadAt !== null && now - this.#heartbeatReadAt < HEARTBEAT_MS) return false
    const heartbeat = await heartbeatOf(this.#setup, fence.seq, signal)
    this.#heartbeatReadAt = now
    this.#suspicion.polled(now, `${position} ${heartbeat}`, hintedAt ?? now)
    if (!this.#suspicion.isSilent(now)) {
      this.#standsFrom = null
      return false
    }
    if (this.#standsFrom === null) {
      if (fence.address !== null && (await this.#setup.isAnswering(fence.address))) {
        this.#suspicion.heard(now)
        return false
      }
      const others = await recentCandidates(this.#setup, Date.now(), signal)
      const candidates = others.filter(({ id }) => id !== fence.writer)
      const rank = rankOf({ id: this.#setup.identity, format: LOG_FORMAT }, candidates, fence.seq)
      this.#standsFrom = now + RANK_MS * rank
      this.#setup.log.warn({ rank }, 'the leader gives no sign of life: this server may take over')
    }
    return this.#timing.now() >= this.#standsFrom
  }

  /** Announces this server as a candidate. @throws BucketError */
  announce(position: number, signal: AbortSignal): Promise<void> {
    const { identity: id, address } = this.#setup
    return announce(this.#setup, { id, address, at: Date.now(), position, format: LOG_FORMAT }, signal)
  }
}
