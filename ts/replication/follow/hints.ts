import { setTimeout as sleep } from 'node:timers/promises'
import type { Outbound } from '../../outbound/index.js'
import { HINT_ANSWER_MS, HINT_BYTES_MAX, HINT_GAP_MS, HINT_RETRY_MS, HINT_WAIT_MS } from '../limits.js'

interface HintsSetup {
  readonly peers: Pick<Outbound, 'call'>
  /** Returns the address of the leader, and the last log record that is served; null: no leader is known. */
  readonly state: () => { readonly address: string; readonly position: number } | null
  /** Called when the leader has a later record. */
  readonly onRecord: (position: number) => void
  /** Called when hints no longer work. */
  readonly onEnd: () => void
}

/**
 * Asks the leader to tell of each new log record, so that a follower need not poll the bucket often. A hint is never
 * trusted: it only makes the follower read the bucket.
 */
export class Hints {
  readonly #setup: HintsSetup
  #answeredAt: number | null = null
  #endedAt: number | null = null
  #running: Promise<void> | null = null

  constructor(setup: HintsSetup) {
    this.#setup = setup
  }

  /** True while the leader answers: each new record is known at once. */
  get work(): boolean {
    return this.#answeredAt !== null && performance.now() - this.#answeredAt < HINT_WAIT_MS + HINT_ANSWER_MS
  }

  /** Returns when the leader answered last, once after it has stopped to. */
  takeEnd(): number | null {
    if (this.#answeredAt !== null) return null
    const endedAt = this.#endedAt
    this.#endedAt = null
    return endedAt
  }

  start(signal: AbortSignal): void {
    this.#running ??= this.#run(signal)
  }

  /** Resolves once no call is in progress, after the signal was aborted. */
  async ended(): Promise<void> {
    await this.#running
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const state = this.#setup.state()
      const found = state && (await this.#ask(state, signal))
      const { work } = this
      if (found === null) this.#endedAt = this.#answeredAt ?? this.#endedAt
      this.#answeredAt = found === null ? null : performance.now()
      if (work && found === null) this.#setup.onEnd()
      if (found !== null && state !== null && found > state.position) this.#setup.onRecord(found)
      const ms = found === null ? HINT_RETRY_MS : HINT_GAP_MS
      await sleep(ms, undefined, { signal }).catch(() => undefined)
    }
  }

  /** @returns the last log record of the leader; null: it does not answer as expected */
  async #ask(
    { address, position }: { readonly address: string; readonly position: number },
    signal: AbortSignal,
  ): Promise<number | null> {
    try {
      const base = address.endsWith('/') ? address : `${address}/`
      const { status, body } = await this.#setup.peers.call({
        method: 'GET',
        url: new URL(`replication/wait?after=${position}`, base).href,
        redirects: 'refused',
        timeoutMs: HINT_WAIT_MS + HINT_ANSWER_MS,
        answerBytesMax: HINT_BYTES_MAX,
        signal,
      })
      const found: unknown = status === 200 ? JSON.parse(body.toString()).position : null
      return Number.isSafeInteger(found) ? Number(found) : null
    } catch {
      return null
    }
  }
}
