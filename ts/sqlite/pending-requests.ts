import type { Calls, FailedReply, Reply, Request } from './requests.js'

/**
 * Calls a method of a store in its thread.
 * @param apply updates in-memory copies of the store. It runs when the answer arrives, before the promises of the
 * answers in the same message resolve.
 */
export type Call<C extends Calls<C>> = <Name extends keyof C & string>(
  call: Name,
  parameters: Parameters<C[Name]>,
  apply?: (result: ReturnType<C[Name]>) => void,
) => Promise<ReturnType<C[Name]>>

/** A call failed, or the thread of the task store has ended or could not start. */
export class StoreError extends Error {
  override readonly name = 'StoreError'

  /** @param reason name of the error in the thread; null if the thread itself failed */
  constructor(
    message: string,
    readonly reason: string | null = null,
  ) {
    super(message)
  }
}

interface Waiter {
  resolve(value: unknown): void
  reject(error: unknown): void
  apply(value: unknown): void
}

/** Unanswered requests to a store. */
export class PendingRequests<C extends Calls<C>> {
  readonly #send: (request: Request<C>) => void
  readonly #failureOf: (reply: FailedReply) => Error
  readonly #isWaiting: (isWaiting: boolean) => void
  readonly #waiters = new Map<number, Waiter>()
  #nextId = 0
  #failure: Error | null = null

  /**
   * @param failureOf returns the error for an answer
   * @param isWaiting called with true before the first unanswered request, with false after the last answer
   */
  constructor(
    send: (request: Request<C>) => void,
    failureOf: (reply: FailedReply) => Error,
    isWaiting: (isWaiting: boolean) => void = () => undefined,
  ) {
    this.#send = send
    this.#failureOf = failureOf
    this.#isWaiting = isWaiting
  }

  readonly call: Call<C> = (call, parameters, apply) => {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    const id = this.#nextId++
    if (this.#waiters.size === 0) this.#isWaiting(true)
    return new Promise((resolve, reject) => {
      this.#waiters.set(id, {
        // The thread answers with the result of the method of this name.
        resolve: resolve as (value: unknown) => void,
        reject,
        apply: (apply ?? (() => undefined)) as (value: unknown) => void,
      })
      this.#send({ id, call, arguments: parameters })
    })
  }

  /** Settles the promises of the answers in one message. */
  receive(replies: readonly Reply[]): void {
    for (const reply of replies) {
      if (reply.ok) this.#waiters.get(reply.id)?.apply(reply.result)
    }
    for (const reply of replies) {
      const waiter = this.#waiters.get(reply.id)
      this.#waiters.delete(reply.id)
      if (reply.ok) waiter?.resolve(reply.result)
      else waiter?.reject(this.#failureOf(reply))
    }
    if (this.#waiters.size === 0) this.#isWaiting(false)
  }

  /** Rejects all requests, because no more answers will come. */
  fail(error: Error): void {
    this.#failure ??= error
    for (const waiter of this.#waiters.values()) waiter.reject(this.#failure)
    this.#waiters.clear()
  }
}
