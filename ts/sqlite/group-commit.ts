import { isDiskFull } from './disk-full.js'
import type { DiskReserve } from './disk-reserve.js'
import { storeFault } from './driver.js'
import { CheckpointError } from './errors.js'
import type { CallRules, Calls, Reply, Request } from './requests.js'
import type { Settled } from './transactions.js'

/** A store that runs calls in transactions. */
interface CommittedStore {
  transaction<T>(calls: readonly (() => T)[], durable: boolean): readonly Settled<T>[]
  bytesUsed(): number
  /** Overwrites frames that a failed transaction may have left in the log. Returns false if the disk still fails. */
  supersede(): boolean
}

interface GroupCommitSetup<C> {
  readonly store: CommittedStore & C
  readonly rules: CallRules<C>
  readonly reserve: HeldReserve
  /** Size of the store from which ordinary writes are refused. */
  readonly ordinaryBytesMax: number
  /** Removes a file that `CallRules.filesAfter` names. The next start removes remaining ones. */
  readonly removeFile: (path: string) => void
}

type HeldReserve = Pick<DiskReserve, 'hold' | 'giveUp'>

/** A request was refused before SQLite received it, or after the disk failed. */
class Refusal extends Error {
  constructor(
    readonly fault: 'full' | 'readonly' | 'doubtful',
    message: string,
  ) {
    super(message)
  }
}

/**
 * Executes requests that arrived together: first the writes, in order of arrival, as one transaction with one sync,
 * then the reads.
 *
 * When the disk or the store becomes full, refuses new tasks and gives up the disk reserve for all other writes. Once
 * the disk has failed to write or sync, refuses all writes, because a second sync may succeed although the first lost
 * data. After a restart, a refused write is absent, unless the disk rejected every write from then on until the end of
 * the process.
 */
export class GroupCommit<C extends Calls<C>> {
  readonly #store: CommittedStore & C
  readonly #rules: CallRules<C>
  readonly #reserve: HeldReserve
  readonly #ordinaryBytesMax: number
  readonly #removeFile: (path: string) => void
  #broken: string | null = null
  /** True if a restart may read frames of a failed transaction. */
  #isDoubtful = false

  constructor({ store, rules, reserve, ordinaryBytesMax, removeFile }: GroupCommitSetup<C>) {
    this.#store = store
    this.#rules = rules
    this.#reserve = reserve
    this.#ordinaryBytesMax = ordinaryBytesMax
    this.#removeFile = removeFile
  }

  execute(requests: readonly Request<C>[]): readonly Reply[] {
    const writes = requests.filter(({ call }) => this.#rules.writing[call] !== undefined)
    const reads = requests.filter(({ call }) => this.#rules.writing[call] === undefined)
    return [...this.#write(writes), ...reads.map((request) => reply(request, this.#perform(request)))]
  }

  /** Refuses writes after a failed checkpoint, because the next sync would succeed even if the failed one lost data. */
  checkpointFailed(error: unknown): void {
    if (!isDiskFull(error)) this.#broken ??= textOf(error)
  }

  #write(requests: readonly Request<C>[]): readonly Reply[] {
    if (requests.length === 0) return []
    const scarce = requests.some((request) => this.#rules.isOrdinary(request)) ? this.#scarcity() : null
    const admitted = requests.filter((request) => scarce === null || !this.#rules.isOrdinary(request))
    const settled = new Map<Request<C>, Settled<unknown>>()
    if (scarce !== null) {
      for (const request of requests) settled.set(request, { ok: false, error: scarce })
    }
    this.#transact(admitted, settled)
    // The reserve is for all writes except new tasks.
    const pressing = admitted.filter(
      (request) => !this.#rules.isOrdinary(request) && isFull(settled.get(request)),
    )
    if (pressing.length > 0) {
      this.#reserve.giveUp()
      this.#transact(pressing, settled)
    }
    for (const request of requests)
      if (settled.get(request)?.ok === true)
        for (const path of this.#rules.filesAfter(request)) this.#removeFile(path)
    return requests.map((request) => reply(request, settled.get(request)))
  }

  #transact(requests: readonly Request<C>[], settled: Map<Request<C>, Settled<unknown>>): void {
    if (requests.length === 0) return
    const durable = requests.some(({ call }) => this.#rules.writing[call] === 'durable')
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

  /** @param isTried true if the write may have reached the disk although it failed */
  #closed(isTried: boolean): Settled<never> {
    const message = `the disk failed (${this.#broken}): no more writes are accepted until a restart`
    const fault = isTried && this.#isDoubtful ? 'doubtful' : 'readonly'
    return { ok: false, error: new Refusal(fault, message) }
  }

  #perform(request: Request<C>): Settled<unknown> {
    try {
      return { ok: true, value: perform(this.#store, request) }
    } catch (error) {
      if (error instanceof CheckpointError) this.checkpointFailed(error)
      return { ok: false, error }
    }
  }

  /** Returns why no new task can be accepted; null if it can. */
  #scarcity(): Error | null {
    if (this.#store.bytesUsed() > this.#ordinaryBytesMax) {
      return new Refusal('full', 'the task store is full: finished tasks must be deleted first')
    }
    if (this.#broken !== null) return null
    try {
      return this.#reserve.hold() ? null : new Refusal('full', 'the disk is full')
    } catch (error) {
      return new Error(`the disk reserve could not be created: ${textOf(error)}`, { cause: error })
    }
  }
}

const isFull = (result: Settled<unknown> | undefined): boolean =>
  result !== undefined && !result.ok && storeFault(result.error) === 'full'

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function perform<C extends Calls<C>>(store: C, request: Request<C>): unknown {
  // `PendingRequests.call` guarantees that the arguments fit the call.
  const call = store[request.call].bind(store) as (...parameters: readonly unknown[]) => unknown
  return call(...request.arguments)
}

function reply<C>({ id, call }: Request<C>, result: Settled<unknown> | undefined): Reply {
  if (result === undefined) throw new TypeError(`${call} was not executed`)
  if (result.ok) return { id, ok: true, result: result.value }
  const { error } = result
  if (error instanceof Refusal) return { id, ok: false, fault: error.fault, message: error.message }
  const fault = storeFault(error) === 'full' ? 'full' : 'other'
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { id, ok: false, fault, message: `${call}: ${text}` }
}
