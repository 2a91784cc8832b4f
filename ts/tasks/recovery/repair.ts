/** Opens the queue of a stopped server for a repair. */
import type { BatchReport, Engine, IndexId } from '../../engine/index.js'
import { driverNames, RESERVE_BYTES } from '../../sqlite/index.js'
import { Catalogue } from '../catalogue/catalogue.js'
import { catalogueFile } from '../catalogue/catalogue-file.js'
import { systemClock } from '../clock.js'
import type { TaskLog } from '../execute/batch-context.js'
import { STORE_BYTES_MAX } from '../limits.js'
import { openSpool } from '../spool.js'
import { inspectStore, objection } from '../store/completeness.js'
import { indexPath, uploadsPath } from '../store/paths.js'
import type { CatalogueRow } from '../store/records.js'
import { openStoreClient } from '../store/store-client.js'
import type { Finding } from '../tasks.js'
import { damagedUploads, findingsOf } from '../verify.js'
import { expectCommits, missing, unrecordedIn } from './expected-commits.js'
import { quarantineIn } from './orphans.js'
import { type RecoveryContext, recordCommit, recover } from './recovery.js'

/** An index during a repair. */
export type RepairedIndex = Pick<CatalogueRow, 'uid' | 'id'>

/** The queue of a data directory under repair. Runs no tasks. Locks out other processes until `close`. */
export interface RepairQueue {
  /** Ascending by uid. */
  indexes(): readonly RepairedIndex[]
  /** Reads every file of an index. */
  findings(index: RepairedIndex): Promise<readonly Finding[]>
  /** The path of the index directory, which may be missing. */
  directoryOf(index: RepairedIndex): string
  /** Uploads of waiting tasks that differ from the received bytes. */
  uploads(): Promise<readonly Finding[]>
  /** Number of tasks that wait for an index. */
  waiting(uid: string): Promise<number>
  /** Returns why a commit is not the newest one recorded for an index; null if it is. */
  lacks(uid: string, report: BatchReport | null): string | null
  /** Records that a directory is about to be created. The next start removes it unless an index uses it by then. */
  announce(id: IndexId): Promise<void>
  /**
   * Gives an index another directory, in one transaction.
   * @param of newest readable commit of the old directory; its unrecorded tasks are recorded first
   * @param by report of the newest commit of the new directory
   * @returns new path of the old directory; null if it could not be moved, which the next start does
   */
  replace(uid: string, of: BatchReport | null, id: IndexId, by: BatchReport): Promise<string | null>
  /** Renames an index and all its tasks. @returns its new name, `{uid}-damaged` or similar */
  setAside(uid: string): Promise<string>
  close(): Promise<void>
}

/** Returns why the task store of a directory cannot be opened; null if it can. */
export const storeObjection = (directory: string): string | null => objection(inspectStore(directory))

/**
 * Opens the queue of a directory whose store is complete, and runs the recovery of a normal start.
 * @throws DirectoryInUseError, StoreError, UnreadableIndexError
 */
export async function openRepair(directory: string, engine: Engine, log: TaskLog): Promise<RepairQueue> {
  const driver = driverNames.find((name) => name === process.env.SVC_TASK_STORE_DRIVER) ?? null
  const setup = { directory, isNew: false, isCompared: false, driver }
  const store = await openStoreClient(
    { ...setup, reserveBytes: RESERVE_BYTES, storeBytesMax: STORE_BYTES_MAX },
    () => undefined,
  )
  try {
    const start = await store.call('start', [])
    const catalogue = new Catalogue(start.catalogue)
    const spool = await openSpool(uploadsPath(directory))
    const quarantine = quarantineIn(directory)
    const context: RecoveryContext = { engine, store, spool, catalogue, log, clock: systemClock }
    await recover(start, context, quarantine)
    const isUnrecorded = unrecordedIn(start)
    expectCommits(engine, catalogue.rows(), isUnrecorded)
    const names = catalogueFile(directory)
    const rowOf = (uid: string): CatalogueRow => {
      const row = catalogue.row(uid)
      if (row === null) throw new Error(`there is no index ${uid}`)
      return row
    }
    const amend = (removed: readonly string[], written: readonly CatalogueRow[], to: string | null) => {
      const relabels = removed.flatMap((from) =>
        to === null ? [] : [{ from, to, swap: false, before: Number.MAX_SAFE_INTEGER }],
      )
      return store.call('amend', [{ removed, written, relabels }], () => catalogue.apply(removed, written))
    }
    return {
      indexes: () => catalogue.entries(),
      findings: ({ uid, id }) => findingsOf(engine, uid, id),
      directoryOf: ({ id }) => indexPath(directory, id),
      uploads: () => damagedUploads(store, spool),
      waiting: async (uid) => (await store.call('waitingOf', [uid])).length,
      lacks: (uid, report) => missing(report, rowOf(uid).lastBatch, isUnrecorded),
      announce: (id) => store.call('announce', [id]),
      async replace(uid, of, id, by) {
        if (of !== null && isUnrecorded(of.batchUid)) await recordCommit(rowOf(uid), of, context)
        const row = rowOf(uid)
        const { primaryKey, batchUid: lastBatch } = by
        await amend([], [{ ...row, id, primaryKey, lastBatch }], null)
        return quarantine.index(row.id).catch(() => null)
      },
      async setAside(uid) {
        const row = rowOf(uid)
        const name = freeName(uid, (other) => catalogue.row(other) !== null)
        await amend([uid], [{ ...row, uid: name }], name)
        return name
      },
      async close() {
        await names
          .update(() => catalogue.rows())
          .catch((error: unknown) => {
            log.warn(
              { err: error },
              'the file that lists the indexes could not be written; the next start writes it',
            )
          })
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Most characters of an index uid. */
const UID_CHARS_MAX = 400

function freeName(uid: string, isTaken: (uid: string) => boolean): string {
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '-damaged' : `-damaged-${number}`
    const name = `${uid.slice(0, UID_CHARS_MAX - suffix.length)}${suffix}`
    if (!isTaken(name)) return name
  }
}
