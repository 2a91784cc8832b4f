import type { OutboxFacts } from '../tasks/index.js'
import type { Shipper } from './shipper.js'

/** A client that waits until the bucket has what it wrote. */
export interface Waiter {
  /** The last transaction that it waits for. */
  readonly last: number
  resolve(): void
  reject(error: Error): void
}

type Sent = Pick<Shipper, 'newestBase' | 'sent'>

/** The clients that wait. Each is answered once another server that starts from the bucket would have what it wrote. */
export class Waiters {
  readonly #waiting = new Set<Waiter>()

  add(waiter: Waiter): void {
    this.#waiting.add(waiter)
  }

  delete(waiter: Waiter): void {
    this.#waiting.delete(waiter)
  }

  /** Sends the oldest changes, and answers whom that lets answer. @returns whether there were any; throws as `Shipper.ship` */
  async ship(shipper: Pick<Shipper, 'ship'> & Sent, signal: AbortSignal): Promise<boolean> {
    // What they wait for was synced before they came.
    const waiting = [...this.#waiting]
    const isSending = await shipper.ship(signal)
    for (const waiter of waiting)
      if (hasBase(shipper) && (!isSending || waiter.last <= shipper.sent)) {
        this.#waiting.delete(waiter)
        waiter.resolve()
      }
    return isSending
  }

  refuse(error: Error): void {
    for (const waiter of this.#waiting) waiter.reject(error)
    this.#waiting.clear()
  }
}

/** Whether a client that has written so far needs not wait. */
export const hasAll = (shipper: Sent, { last, unsent }: Pick<OutboxFacts, 'last' | 'unsent'>): boolean =>
  hasBase(shipper) && (unsent === 0 || shipper.sent >= last)

/** Without a base the log does not tell what was there before it. */
const hasBase = ({ newestBase }: Sent): boolean => newestBase !== -1
