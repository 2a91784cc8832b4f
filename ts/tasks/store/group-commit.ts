import { STORE_SHARE_FOR_TASKS } from '../limits.js'
import { isDiskFull } from '../spool.js'
import type { DiskReserve } from './disk-reserve.js'
import { storeFault } from './driver.js'
import { CheckpointError } from './errors.js'
import { isOrdinary, type Reply, type Request, type StoreCalls, writingCalls } from './records.js'
import type { Settled } from './transactions.js'

/** The calls of a store that group commit makes. */
export interface CommittedStore extends StoreCalls {
  transaction<T>(calls: readonly (() => T)[], durable: boolean): readonly Settled<T>[]
  bytesUsed(): number
  /** Overwrites the frames that a failed transaction may have left in the log; false if the disk still fails. */
  supersede(): boolean
}

export type HeldReserve = Pick<DiskReserve, 'hold' | 'giveUp'>

/** A request was refused before SQLite saw it, or after the disk failed. */
class Refusal extends Error {
  constructor(
    readonly fault: 'full' | 'readonly' | 'doubtful',
    message: string,
  ) {
    super(message)
  }
}

/**
 * Carries out requests that arrived together: the writes in their order of arrival as one transaction
 * with one sync, then the reads.
 *
 * When the disk or the store becomes full it refuses new tasks first, and gives up the disk reserve for all other
 * writes. Once the disk has failed to write or to sync, it refuses all writes: a second sync may succeed although the
 * first one has lost data. A write that was refused is not there after a restart, unless the disk refused every write
 * from then to the end of the process.
 */
export class GroupCommit {
  readonly #store: CommittedStore
  readonly #reserve: HeldReserve
  readonly #bytesMax: number
  readonly #removeFile: (path: string) => void
  #broken: string | null = null
  /** Whether frames of a failed transaction may be read by a restart. */
  #isDoubtful = false

  /**
   * @param bytesMax largest size of the store; new tasks may fill `STORE_SHARE_FOR_TASKS` of it
   * @param removeFile removes an upload; the next start removes those that stay
   */
  constructor(
    store: CommittedStore,
    reserve: HeldReserve,
    bytesMax: number,
    removeFile: (path: string) => void,
  ) {
    this.#store = store
    this.#reserve = reserve
    this.#bytesMax = bytesMax
    this.#removeFile = removeFile
  }

  carryOut(requests: readonly Request[]): readonly Reply[] {
    const writes = requests.filter(({ call }) => writingCalls[call] !== undefined)
    const reads = requests.filter(({ call }) => writingCalls[call] === undefined)
    return [...this.#write(writes), ...reads.map((request) => reply(request, this.#perform(request)))]
  }

  /** Refuses writes after a failed checkpoint: a sync of the log that failed within it would succeed the next time. */
  checkpointFailed(error: unknown): void {
    if (!isDiskFull(error)) this.#broken ??= textOf(error)
  }

  #write(requests: readonly Request[]): readonly Reply[] {
    if (requests.length === 0) return []
    const scarce = requests.some(isOrdinary) ? this.#scarcity() : null
    const admitted = requests.filter((request) => scarce === null || !isOrdinary(request))
    const settled = new Map<Request, Settled<unknown>>()
    if (scarce !== null) {
      for (const request of requests) settled.set(request, { ok: false, error: scarce })
    }
    this.#transact(admitted, settled)
    // The reserve is for all writes except new tasks.
    const pressing = admitted.filter((request) => !isOrdinary(request) && isFull(settled.get(request)))
    if (pressing.length > 0) {
      this.#reserve.giveUp()
      this.#transact(pressing, settled)
    }
    for (const request of requests) if (settled.get(request)?.ok === true) this.#removeUploads(request)
    return requests.map((request) => reply(request, settled.get(request)))
  }

  #removeUploads(request: Request): void {
    if (request.call !== 'conclude') return
    const [{ uploads }] = request.arguments as Parameters<StoreCalls['conclude']>
    for (const path of uploads) this.#removeFile(path)
  }

  #transact(requests: readonly Request[], settled: Map<Request, Settled<unknown>>): void {
    if (requests.length === 0) return
    const durable = requests.some(({ call }) => writingCalls[call] === 'durable')
    const calls = requests.map((request) => () => perform(this.#store, request))
    const isTried = this.#broken === null
    if (this.#isDoubtful) this.#isDoubtful = !this.#store.supersede()
    const results = isTried ? this.#store.transaction(calls, durable) : []
    for (const result of results) {
      if (!result.ok && storeFault(result.error) === 'io') this.#broken ??= textOf(result.error)
    }
    if (isTried && this.#broken !== null) this.#isDoubtful = !this.#store.supersede()
    for (const [position, request] of requests.entries()) {
      const result = results[position]
      settled.set(request, this.#broken === null && result !== undefined ? result : this.#closed(isTried))
    }
  }

  /** @param isTried whether the write may have reached the disk although it failed */
  #closed(isTried: boolean): Settled<never> {
    const message = `the disk failed (${this.#broken}): no more writes are taken until a restart`
    const fault = isTried && this.#isDoubtful ? 'doubtful' : 'readonly'
    return { ok: false, error: new Refusal(fault, message) }
  }

  #perform(request: Request): Settled<unknown> {
    try {
      return { ok: true, value: perform(this.#store, request) }
    } catch (error) {
      if (error instanceof CheckpointError) this.checkpointFailed(error)
      return { ok: false, error }
    }
  }

  /** Why no new task can be taken, null if one can. */
  #scarcity(): Error | null {
    if (this.#store.bytesUsed() > this.#bytesMax * STORE_SHARE_FOR_TASKS) {
      return new Refusal('full', 'the task store is full: finished tasks have to be deleted first')
    }
    if (this.#broken !== null) return null
    try {
      return this.#reserve.hold() ? null : new Refusal('full', 'the disk is full')
    } catch (error) {
      return new Error(`the reserve of the disk cannot be taken: ${textOf(error)}`, { cause: error })
    }
  }
}

const isFull = (result: Settled<unknown> | undefined): boolean =>
  result !== undefined && !result.ok && storeFault(result.error) === 'full'

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function perform(store: StoreCalls, request: Request): unknown {
  // The main thread's types fit the arguments to the call; see `StoreClient.call`.
  const call = store[request.call].bind(store) as (...parameters: readonly unknown[]) => unknown
  return call(...request.arguments)
}

function reply({ id, call }: Request, result: Settled<unknown> | undefined): Reply {
  if (result === undefined) throw new TypeError(`${call} was not carried out`)
  if (result.ok) return { id, ok: true, result: result.value }
  const { error } = result
  if (error instanceof Refusal) return { id, ok: false, fault: error.fault, message: error.message }
  const fault = storeFault(error) === 'full' ? 'full' : 'other'
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { id, ok: false, fault, message: `${call}: ${text}` }
}
