import { constants } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import type { ReportFault } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import {
  type Call,
  type DriverName,
  type FailedReply,
  PendingRequests,
  StoreError,
} from '../../sqlite/index.js'
import { noSpace } from '../spool.js'
import type { WorkerSetup } from './open-store.js'
import { storePath } from './paths.js'
import type { Compaction, CopyPurpose, StoreCalls } from './records.js'
import { takeStoreThread } from './store-thread.js'
import type { Opened, StoreMessage } from './store-worker.js'

/** Sends calls to the thread of the task store. */
export interface StoreClient {
  /** @throws ApiError `no_space_left_on_device` if the disk or the store is full, `io_error` once the disk has failed */
  readonly call: Call<StoreCalls>
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

export function failureOf({ fault, message }: FailedReply): Error {
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
  const exchange = new PendingRequests<StoreCalls>(
    (request) => worker.postMessage(request),
    failureOf,
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
