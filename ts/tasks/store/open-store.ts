/** Opens the task store of a data directory, or refuses it without changing it. */
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  CheckpointError,
  Checkpoints,
  type Connection,
  claim,
  DirectoryInUseError,
  type Driver,
  type DriverName,
  isMisread,
  loadDriver,
  MarkWriter,
  PageChecksums,
  saveBeforeOpening,
  storeFault,
  syncNames,
} from '../../sqlite/index.js'
import type { UidClass } from '../uid-class.js'
import { inspectStore, objection, refusal, type StoreFindings, StoreUnusableError } from './completeness.js'
import { DamagedStoreError, ForeignStoreError, StoreVersionError } from './errors.js'
import { requireOwnNames, requireOwnTables, requirePlainTables } from './foreign-store.js'
import { takeNextStore } from './next-store.js'
import { markPath, storePath } from './paths.js'
import { FIRST_WITH_MARK, LAST_WITHOUT_SEALS, MIGRATIONS, SCHEMA_VERSION } from './schema.js'
import { Store } from './store.js'

/** The setup that the main thread passes to the store's thread. */
export interface WorkerSetup {
  /** The data directory. */
  readonly directory: string
  /** True for a new directory: it may contain indexes before it has a store. */
  readonly isNew: boolean
  /** True if the store may come from a snapshot or a bucket; see `foreign-store.ts`. Absent: false. */
  readonly isForeign?: boolean
  /** True if the pages of the store have just been compared with their checksums. */
  readonly isCompared: boolean
  /** See `StoreSetup`. */
  readonly keepsChanges?: boolean | undefined
  /** See `StoreSetup`. */
  readonly uidClass?: UidClass | undefined
  readonly driver: DriverName | null
  /** See `RESERVE_BYTES` and `STORE_BYTES_MAX`. */
  readonly reserveBytes: number
  readonly storeBytesMax: number
}

/**
 * @throws StoreUnusableError, StoreVersionError, ForeignStoreError, DirectoryInUseError, or Error with a message for
 * humans
 */
export async function openStore(setup: WorkerSetup) {
  const { directory, isNew, isCompared, driver: forced } = setup
  const { driver, reasons } = loadDriver(forced ?? undefined)
  const path = storePath(directory)
  mkdirSync(dirname(path), { recursive: true })
  const release = await claim(join(dirname(path), 'lock'))
  try {
    takeNextStore(directory)
    const found = inspectStore(directory, isCompared)
    requireKnownVersion(path, found)
    const reason = isNew ? null : objection(found)
    if (reason !== null) throw refusal(directory, reason)
    const { store, checkpoints, mark } = openMarked(driver, setup, found)
    return {
      store,
      checkpoints,
      name: driver.name,
      reasons,
      uncheckedReason: uncheckedReasonOf(found),
      close() {
        const isSettled = settles(checkpoints)
        store.close()
        checkpoints.close(isSettled)
        mark.close()
        release()
      },
    }
  } catch (error) {
    release()
    if (error instanceof StoreUnusableError || error instanceof StoreVersionError) throw error
    if (error instanceof ForeignStoreError) throw error
    if (error instanceof DamagedStoreError) throw refusal(directory, error.message)
    const reason = error instanceof Error ? error.message : String(error)
    const fault = storeFault(error)
    if (fault === 'busy')
      throw new DirectoryInUseError(`the task store ${path} is in use by another process; stop it first`)
    if (fault === 'corrupt' && !isMisread(path, error)) throw refusal(directory, `is damaged (${reason})`)
    throw new Error(`cannot open the task store ${path}: ${reason}`, { cause: error })
  }
}

/** @throws StoreVersionError */
function requireKnownVersion(path: string, { header }: StoreFindings): void {
  if (typeof header !== 'object' || header.version === 0 || header.version === SCHEMA_VERSION) return
  if (MIGRATIONS[header.version] !== undefined) return
  throw new StoreVersionError(
    `the task store ${path} has version ${header.version}, this program reads version ${SCHEMA_VERSION}`,
  )
}

/** Opens the store with its checksums and its mark. Each later durable transaction updates the mark. */
function openMarked(
  driver: Driver,
  { directory, keepsChanges, uidClass, isForeign = false }: WorkerSetup,
  { header, mark: found, pages }: StoreFindings,
) {
  const path = storePath(directory)
  const checksums = pages?.checksums ?? PageChecksums.none()
  saveBeforeOpening(path, checksums)
  let [checkpoints, mark]: [Checkpoints | null, MarkWriter | null] = [null, null]
  const connection = driver.open(path)
  try {
    // Exclusive locking must be set before the first access to the log. SQLite then uses no shared memory file, and
    // another process that opens the store fails at once.
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.exec('PRAGMA temp_store = MEMORY')
    if (isForeign) withFresh(driver, (fresh) => requirePlainTables(connection, fresh))
    const made = new Checkpoints(connection, path, checksums)
    checkpoints = made
    const store = new Store(connection, {
      isCompared: pages?.areKnown ?? false,
      identity: typeof found === 'object' ? found.store : null,
      reached: (sequence) => mark?.reach(sequence),
      settle: () => made.settle(),
      keepsChanges,
      uidClass,
      copying: {
        begin: () => made.hold(),
        open: (target) => driver.open(target),
        end: () => made.release(),
      },
    })
    if (isForeign) {
      withFresh(driver, (fresh) => requireOwnTables(connection, fresh))
      requireOwnNames(connection)
    }
    mark = new MarkWriter(markPath(directory), { store: store.identity, sequence: store.sequence })
    if (header === 'none') for (const made of [dirname(path), directory]) syncNames(made)
    return { store, checkpoints, mark }
  } catch (error) {
    connection.close()
    checkpoints?.close(false)
    throw error
  }
}

/** Calls `compare` with an empty in-memory database. */
function withFresh(driver: Driver, compare: (fresh: Connection) => void): void {
  const fresh = driver.open(':memory:')
  try {
    compare(fresh)
  } finally {
    fresh.close()
  }
}

/** Returns true if the store's file now contains the log. Otherwise the next start reads the log. */
function settles(checkpoints: Checkpoints): boolean {
  try {
    checkpoints.settle()
    return true
  } catch (error) {
    if (error instanceof CheckpointError) return false
    throw error
  }
}

/** Returns why the store could not be checked, else null. Stores of earlier versions have no mark or checksums. */
function uncheckedReasonOf({ header, mark, pages }: StoreFindings): string | null {
  if (typeof header !== 'object' || header.version === 0) return null
  if (mark === 'damaged') return 'the file `tasks.mark` is damaged'
  if (mark === 'none') {
    return header.version < FIRST_WITH_MARK ? null : 'the file `tasks.mark` is missing'
  }
  if (pages === null || pages.areKnown || header.version <= LAST_WITHOUT_SEALS) return null
  return 'the checksums of its pages are missing or damaged'
}
