/** The stream of changes of a slot. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangeBatch, IndexChanges, Key } from '../../../ts/transfer/sync/source.js'
import type { Database } from './database.js'
import {
  PENDING_KEYS_MAX,
  RELATED_KEYS_MAX,
  REPORT_MS,
  SILENCE_MS_MAX,
  VISIBLE_PAUSE_FIRST_MS,
  VISIBLE_PAUSE_LAST_MS,
} from './limits.js'
import { literal, positionText, quoted } from './names.js'
import { type Collected, PendingBatch, type PendingChanges } from './pending.js'
import { decodeMessage } from './pgoutput.js'
import type { Plan } from './plan.js'
import { ReplicationClient, type StreamMessage } from './replication-client.js'
import type { PostgresSettings } from './settings.js'
import { PostgresError } from './source-error.js'
import { areVisible } from './visibility.js'

export interface StreamSetup {
  readonly database: Database
  readonly settings: PostgresSettings
  plans(): ReadonlyMap<string, Plan>
}

/** Receives changes while earlier ones are in use. */
export class ChangeStream {
  readonly #setup: StreamSetup
  readonly #pending: PendingBatch
  #client: ReplicationClient | null = null
  #timer: NodeJS.Timeout | null = null
  #received = 0n
  #confirmed = 0n
  #heardMs = Date.now()
  #isPaused = false
  #failure: Error | null = null
  #wake: () => void = () => undefined

  private constructor(setup: StreamSetup) {
    this.#setup = setup
    this.#pending = new PendingBatch(() => setup.plans().values())
  }

  /** @throws PostgresError if the slot is in use or does not exist */
  static async open(setup: StreamSetup, after: bigint, signal: AbortSignal): Promise<ChangeStream> {
    const stream = new ChangeStream(setup)
    signal.addEventListener('abort', () => stream.#wake(), { once: true })
    await stream.#connect(after)
    return stream
  }

  async #connect(after: bigint): Promise<void> {
    const { slot, publication } = this.#setup.settings
    const failed = (error: Error): void => {
      this.#failure ??= error
      this.#wake()
    }
    const client = await ReplicationClient.connect(this.#setup.settings, failed)
    this.#client = client
    this.#received = after
    this.#confirmed = after
    // Protocol 1 sends transactions after their commit: the database keeps large ones meanwhile, not this process.
    const options = `proto_version '1', publication_names ${literal(quoted(publication))}`
    client.start(
      `START_REPLICATION SLOT ${quoted(slot)} LOGICAL ${positionText(after)} (${options})`,
      (message) => this.#take(message),
      failed,
    )
    this.#timer = setInterval(() => {
      if (Date.now() - this.#heardMs > SILENCE_MS_MAX && !this.#isPaused)
        failed(new PostgresError('PostgreSQL: the stream of changes is silent', true))
      else this.#report(true)
    }, REPORT_MS)
  }

  #take(message: StreamMessage): void {
    this.#heardMs = Date.now()
    if (message.kind === 'keepalive') {
      if (message.end > this.#received) {
        this.#received = message.end
        this.#pending.idle(message.end)
      }
      if (message.isReplyWanted) this.#report()
    } else {
      const decoded = decodeMessage(message.bytes)
      if (decoded.kind === 'commit' && decoded.end > this.#received) this.#received = decoded.end
      this.#pending.add(decoded)
      if (!this.#isPaused && this.#pending.keys > PENDING_KEYS_MAX) {
        this.#isPaused = true
        this.#client?.pause()
      }
    }
    if (this.#pending.isReady) this.#wake()
  }

  #report(isReplyWanted = false): void {
    this.#client?.report(this.#received, this.#confirmed, isReplyWanted)
  }

  confirm(position: bigint): void {
    if (position <= this.#confirmed) return
    this.#confirmed = position
    this.#report()
  }

  /** Returns the next batch; null when the signal aborts. @throws PostgresError if the connection breaks */
  async next(signal: AbortSignal): Promise<ChangeBatch | null> {
    for (;;) {
      if (signal.aborted) return null
      if (this.#failure !== null) throw this.#failure
      if (this.#pending.isReady) break
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        if (this.#failure !== null || this.#pending.isReady) resolve()
      })
    }
    const collected = this.#pending.take()
    if (this.#isPaused) {
      this.#isPaused = false
      this.#heardMs = Date.now()
      this.#client?.resume()
    }
    await this.#visible(collected.xids, signal)
    return this.#batch(collected)
  }

  /** A commit may be in the log before other connections see it. */
  async #visible(xids: ReadonlySet<number>, signal: AbortSignal): Promise<void> {
    if (xids.size === 0) return
    for (
      let pause = VISIBLE_PAUSE_FIRST_MS;
      !signal.aborted;
      pause = Math.min(pause * 2, VISIBLE_PAUSE_LAST_MS)
    ) {
      const sql = 'select pg_current_snapshot()::text as snapshot'
      const [row] = await this.#setup.database.rows<{ snapshot: string }>('reading the snapshot', sql)
      if (areVisible(xids, row?.snapshot ?? '')) return
      await sleep(pause)
    }
  }

  async #batch({ changes, position, rows, committedMs }: Collected): Promise<ChangeBatch> {
    const all = new Map<string, IndexChanges>()
    for (const [uid, pending] of changes) {
      const plan = this.#setup.plans().get(uid)
      if (plan !== undefined) all.set(uid, await resolved(plan, pending))
    }
    return { changes: all, rows, committedMs, position: position === null ? null : positionText(position) }
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    if (this.#failure === null) this.#report()
    this.#failure ??= new PostgresError('PostgreSQL: the stream of changes was closed', true)
    this.#client?.destroy()
  }
}

/** Finds the keys that changes of related tables touch. */
async function resolved(plan: Plan, pending: PendingChanges): Promise<IndexChanges> {
  const { isTruncated, related, keys } = pending
  let { recopy } = pending
  for (const [at, values] of related) {
    const relation = plan.relations[at]
    if (relation === undefined) continue
    const touched: readonly Key[] = await relation.keysOf([...values.values()])
    for (const key of touched) keys.set(key.join('\0'), key)
    if (keys.size > RELATED_KEYS_MAX) {
      recopy = `a change of ${relation.table.sql} touches more than ${RELATED_KEYS_MAX} documents`
      break
    }
  }
  return { isTruncated, recopy, keys: [...keys.values()] }
}
