import { constants } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import type { ReportFault } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { noSpace } from '../spool.js'
import type { DriverName } from './driver.js'
import type { WorkerSetup } from './open-store.js'
import { storePath } from './paths.js'
import type { Compaction, CopyPurpose, Reply, Request, StoreCall, StoreCalls } from './records.js'
import { takeStoreThread } from './store-thread.js'
import type { Opened, StoreMessage } from './store-worker.js'

/** Sends calls to the thread of the task store. */
export interface StoreClient {
  /**
   * @param apply updates in-memory copies of the store. It runs when the answer arrives, before the promises of the
   * answers in the same message resolve.
   * @throws ApiError `no_space_left_on_device` if the disk or the store is full, `io_error` once the disk has failed
   */
  call<C extends StoreCall>(
    call: C,
    parameters: Parameters<StoreCalls[C]>,
    apply?: (result: ReturnType<StoreCalls[C]>) => void,
  ): Promise<ReturnType<StoreCalls[C]>>
  /**
   * Copies the store to `path`, which must not exist. Calls go on meanwhile; the copy holds what was stored when it began.
   * Unless it is for following, its running tasks are as a restart would find them.
   * @param omitted uids of running tasks to omit from the copy
   * @returns the last transaction in the copy of those that are kept for a bucket, 0 if none
   */
  copyTo(path: string, purpose: CopyPurpose, omitted: readonly number[]): Promise<CopyBegun>
  /** Rewrites the file without its gaps. */
  compact(): Promise<Compaction>
  readonly driver: DriverName
  /** Why the drivers before this one could not be loaded. */
  readonly reasons: readonly string[]
  /** Why the store could not be checked; null if it was. */
  readonly uncheckedReason: string | null
  /** Executes the pending calls, then closes the store. */
  close(): Promise<void>
}

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

/** The disk failed, so writes are refused until a restart. */
export class StoreReadOnlyError extends ApiError {
  /** @param isDoubtful true if the write may be present after a restart */
  constructor(
    message: string,
    readonly isDoubtful: boolean,
  ) {
    super('io_error', message)
  }
}

function failureOf({ fault, message }: { readonly fault: string; readonly message: string }): Error {
  switch (fault) {
    case 'full':
      return noSpace('the task')
    case 'readonly':
    case 'doubtful':
      return new StoreReadOnlyError(message, fault === 'doubtful')
    default:
      return new StoreError(message)
  }
}

type CopyBegun = ReturnType<StoreCalls['beginCopy']>

/**
 * Copies and compacts a store, one at a time. The file is copied outside the thread of the store, which serves calls
 * meanwhile.
 * @param copyFile copies the store's file
 */
export function fileCalls(
  call: StoreClient['call'],
  copyFile: (target: string) => Promise<void>,
): Pick<StoreClient, 'copyTo' | 'compact'> {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work)
    last = next.catch(() => undefined)
    return next
  }
  const copy: StoreClient['copyTo'] = async (path, purpose, omitted) => {
    const begun = await call('beginCopy', [path])
    try {
      await copyFile(path)
    } catch (error) {
      await call('abandonCopy', [])
      throw error
    }
    await call('finishCopy', [path, purpose, omitted])
    return begun
  }
  return {
    copyTo: (...parameters) => inTurn(() => copy(...parameters)),
    compact: () => inTurn(() => call('compact', [])),
  }
}

interface Waiter {
  resolve(value: unknown): void
  reject(error: unknown): void
  apply(value: unknown): void
}

/** Unanswered requests to the store. */
export class PendingRequests {
  readonly #send: (request: Request) => void
  readonly #isWaiting: (isWaiting: boolean) => void
  readonly #waiters = new Map<number, Waiter>()
  #nextId = 0
  #failure: Error | null = null

  /** @param isWaiting called with true before the first unanswered request, with false after the last answer */
  constructor(send: (request: Request) => void, isWaiting: (isWaiting: boolean) => void = () => undefined) {
    this.#send = send
    this.#isWaiting = isWaiting
  }

  readonly call: StoreClient['call'] = (call, parameters, apply) => {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    const id = this.#nextId++
    if (this.#waiters.size === 0) this.#isWaiting(true)
    return new Promise((resolve, reject) => {
      this.#waiters.set(id, {
        // The thread answers with the result of the `StoreCalls` method of this name.
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
      else waiter?.reject(failureOf(reply))
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

/**
 * Opens the store in a thread. Rejects with the reason if it cannot be opened.
 * @param report receives faults of background work
 */
export async function openStoreClient(setup: WorkerSetup, report: ReportFault): Promise<StoreClient> {
  const worker = takeStoreThread()
  worker.postMessage(setup)
  const opened = await new Promise<Opened>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new StoreError(`the task store thread ended with ${code}`)))
  })
  if (!opened.ok) {
    await worker.terminate()
    throw new StoreError(opened.message, opened.name)
  }

  // The thread keeps the process alive only while a request is unanswered, and while it closes.
  let isClosing = false
  const exchange = new PendingRequests(
    (request) => worker.postMessage(request),
    (isWaiting) => (isWaiting || isClosing ? worker.ref() : worker.unref()),
  )
  worker.unref()
  const closed = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  worker.on('error', (error) => exchange.fail(error instanceof Error ? error : new StoreError(String(error))))
  worker.on('exit', () => exchange.fail(new StoreError('the task store is closed')))
  worker.on('message', (message: StoreMessage) => {
    if (message === 'closed') return
    if ('fault' in message) report(message.fault)
    else exchange.receive(message)
  })

  return {
    driver: opened.driver,
    reasons: opened.reasons,
    uncheckedReason: opened.uncheckedReason,
    call: exchange.call,
    ...fileCalls(exchange.call, (target) =>
      copyFile(storePath(setup.directory), target, constants.COPYFILE_FICLONE),
    ),
    async close() {
      isClosing = true
      worker.ref()
      worker.postMessage('close')
      await closed
    },
  }
}
