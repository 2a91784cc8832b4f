import type { OutboxFacts } from '../tasks/index.js'
import type { Shipper } from './publish/shipper.js'

/** A client that waits until its writes are in the bucket. */
export interface Waiter {
  /** The last transaction that it waits for. */
  readonly last: number
  resolve(): void
  reject(error: Error): void
}

type Sent = Pick<Shipper, 'newestCheckpoint' | 'sent'>

/** The waiting clients. Each is resolved once a server that starts from the bucket would have its writes. */
export class Waiters {
  readonly #waiting = new Set<Waiter>()
  #closed: Error | null = null

  /** Rejects the waiter at once after `close`. */
  add(waiter: Waiter): void {
    if (this.#closed === null) this.#waiting.add(waiter)
    else waiter.reject(this.#closed)
  }

  delete(waiter: Waiter): void {
    this.#waiting.delete(waiter)
  }

  /**
   * Sends the oldest changes and resolves the clients whose writes are now in the bucket. Returns and throws as
   * `Shipper.ship`.
   */
  async ship(shipper: Pick<Shipper, 'ship'> & Sent, signal: AbortSignal): Promise<boolean> {
    // Writes of the current waiters are synced. A client that arrives during `ship` may wait for later ones.
    const waiting = [...this.#waiting]
    const isSending = await shipper.ship(signal)
    for (const waiter of waiting)
      if (hasCheckpoint(shipper) && (!isSending || waiter.last <= shipper.sent)) {
        this.#waiting.delete(waiter)
        waiter.resolve()
      }
    return isSending
  }

  /** Rejects all waiters, and those that are added later. */
  close(error: Error): void {
    this.#closed ??= error
    this.refuse(this.#closed)
  }

  refuse(error: Error): void {
    for (const waiter of this.#waiting) waiter.reject(error)
    this.#waiting.clear()
  }
}

/** Returns true if the bucket has all writes up to transaction `last`. */
export const hasAll = (shipper: Sent, { last, unsent }: Pick<OutboxFacts, 'last' | 'unsent'>): boolean =>
  hasCheckpoint(shipper) && (unsent === 0 || shipper.sent >= last)

/** Without a checkpoint the log lacks the state before it. */
const hasCheckpoint = ({ newestCheckpoint }: Sent): boolean => newestCheckpoint !== -1
