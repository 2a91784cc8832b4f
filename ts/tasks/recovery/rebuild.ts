/** Creates a new task store for indexes whose store is lost or damaged. */
import { copyFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type BatchReport,
  type Engine,
  EngineError,
  type IndexId,
  makeDirectory,
} from '../../engine/index.js'
import {
  claim,
  DriverLoadError,
  isMisread,
  loadDriver,
  number,
  type Row,
  StoreError,
  storeFault,
  text,
} from '../../sqlite/index.js'
import { readCatalogueFile } from '../catalogue/catalogue-file.js'
import { RESTORED_BATCH_UIDS } from '../limits.js'
import { localValues } from '../replicated/tables.js'
import { indexesPath, lostPath, markPath, uploadsPath } from '../store/paths.js'
import type { CatalogueRow } from '../store/records.js'
import { type SealedTable, unsealed } from '../store/sealed-rows.js'
import { UID_FLOOR_STORED_AS, type UidFloor } from '../store/store.js'
import type { WebhookBody } from '../store/stored-webhook.js'
import type { StoredKey } from '../tasks.js'
import { order } from './expected-commits.js'
import { stampOf } from './orphans.js'
import { openRestore, type Restore } from './restore.js'

/** The result of rebuilding a task store. */
export interface Rebuilt {
  /** New location of the old store and the uploads of its tasks. */
  readonly aside: string
  readonly indexes: readonly {
    readonly uid: string
    /** null: the index is damaged. */
    readonly documents: number | null
  }[]
  /** Indexes that have no directory any more. */
  readonly missing: readonly string[]
  /** Number of rows recovered from the old store; null if it could not be opened. */
  readonly salvaged: {
    readonly keys: number
    readonly webhooks: number
    readonly values: number
    /** Rows of these tables left out because their checksums do not match. */
    readonly damaged: number
  } | null
}

/**
 * Moves the task store aside and creates a new one. The catalogue comes from the index directories and the file next to
 * them. Keys, webhooks and features come from the readable part of the old store. The task history and waiting tasks
 * are lost; uploads of waiting tasks are moved aside.
 *
 * @param engine open over the indexes of that directory
 * @throws DirectoryInUseError if another process uses the directory; nothing was changed then
 * @throws StoreError if the system fails to read the old files; nothing was changed then
 */
export async function rebuildTaskStore(directory: string, engine: Engine): Promise<Rebuilt> {
  const aside = join(lostPath(directory), stampOf(new Date()))
  const tasks = join(directory, 'tasks')
  await makeDirectory(tasks)
  const release = await claim(join(tasks, 'lock'))
  release()
  const old = await salvage(tasks)
  const { rows, documents, missing, floor } = await catalogueOf(directory, engine)
  const uploads = uploadsPath(directory)
  const hasUploads = await readdir(uploads).then(
    (names) => names.length > 0,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw unreadable(uploads, error)
    },
  )
  // The store is built in another directory, so that a crash does not leave a partial store under the final name.
  const making = join(directory, 'tasks.rebuilding')
  await rm(making, { recursive: true, force: true })
  const store = await openRestore(making)
  try {
    await store.value(UID_FLOOR_STORED_AS, higher(floor, old?.floor ?? floor))
    for (const row of rows) await store.row(row)
    if (old !== null) await putBack(store, old)
    await store.end()
  } finally {
    await store.close()
  }
  await makeDirectory(aside)
  await rename(tasks, join(aside, 'tasks'))
  if (hasUploads) await rename(uploads, join(aside, 'update_files'))
  // A crash between these renames leaves no store, or a store that ends before the mark of the old one. The next start
  // refuses both.
  await rename(join(making, 'tasks'), tasks)
  await rename(markPath(making), markPath(directory))
  await rm(making, { recursive: true })
  return {
    aside,
    indexes: rows.map(({ uid, id }) => ({ uid, documents: documents.get(id) ?? null })),
    missing,
    salvaged: old && {
      keys: old.keys.length,
      webhooks: old.webhooks.length,
      values: old.values.length,
      damaged: old.damaged,
    },
  }
}

const higher = (a: UidFloor, b: UidFloor): UidFloor => ({
  task: Math.max(a.task, b.task),
  batch: Math.max(a.batch, b.batch),
})

async function putBack(store: Restore, { keys, values, webhooks }: Salvaged): Promise<void> {
  for (const key of keys) await store.key(key)
  for (const [name, value] of values) await store.value(name, value)
  for (const [uuid, body] of webhooks) await store.webhook({ uuid, ...body })
}

/** Rebuilds the catalogue from the commits and the list of names of the indexes. Also returns the first free uids. */
async function catalogueOf(directory: string, engine: Engine) {
  const catalogue = await readCatalogueFile(directory).catch((error: unknown) => {
    throw unreadable(`the catalogue in ${indexesPath(directory)}`, error)
  })
  const named = new Map(catalogue?.map((index) => [index.id, index]))
  const rows: CatalogueRow[] = []
  const taken = new Set([...named.values()].map(({ uid }) => uid))
  /** Names in commits. After a rename or a swap, an old commit may have the name of another index. */
  const told = new Map<string, { readonly row: CatalogueRow; readonly batchUid: number }>()
  const documents = new Map<IndexId, number | null>()
  let floor: UidFloor = { task: 0, batch: 0 }
  for (const id of (await engine.list()).toSorted()) {
    const report = await reportOf(engine, id)
    const name = named.get(id)
    // The directory has no commit, or is left from a batch whose outcome was never recorded.
    if (report === null && name === undefined) continue
    const { birthtimeMs, mtimeMs } = await stat(join(indexesPath(directory), id))
    const batchUid = typeof report === 'object' && report !== null ? report.batchUid : null
    const row: CatalogueRow = {
      uid: name?.uid ?? `recovered-${id}`,
      id,
      primaryKey: typeof report === 'object' && report !== null ? report.primaryKey : null,
      createdAt: name?.createdAt ?? Math.round(birthtimeMs * 1000),
      updatedAt: Math.round(mtimeMs * 1000),
      lastBatch: batchUid,
    }
    rows.push(row)
    const uid = typeof report === 'object' ? report?.indexUid : undefined
    if (name === undefined && uid !== undefined && !taken.has(uid)) {
      const batch = order(batchUid ?? 0)
      if (batch >= (told.get(uid)?.batchUid ?? batch)) told.set(uid, { row, batchUid: batch })
    }
    named.delete(id)
    documents.set(id, typeof report === 'object' && report !== null ? report.documents : null)
    if (typeof report === 'object' && report !== null) floor = higher(floor, floorOf(report))
  }
  const names = new Map([...told].map(([uid, { row }]) => [row, uid]))
  return {
    rows: rows.map((row) => ({ ...row, uid: names.get(row) ?? row.uid })),
    documents,
    missing: [...named.values()].map(({ uid }) => uid),
    floor,
  }
}

async function reportOf(engine: Engine, id: IndexId): Promise<BatchReport | 'damaged' | null> {
  try {
    return await engine.lastCommit(id)
  } catch (error) {
    if (error instanceof EngineError && error.code === 'index_damaged') return 'damaged'
    throw error
  }
}

const floorOf = ({ batchUid, outcomes }: BatchReport): UidFloor => ({
  task: Math.max(-1, ...outcomes.map(({ taskUid }) => taskUid)) + 1,
  batch: batchUid < RESTORED_BATCH_UIDS ? batchUid + 1 : 0,
})

/** Limit for plausible uids: the API counts them in 32 bits, so a larger uid comes from a damaged row. */
const UIDS_MAX = 2 ** 32

/** The rows read from the old store. */
interface Salvaged {
  readonly keys: readonly StoredKey[]
  readonly values: readonly (readonly [name: string, value: unknown])[]
  readonly webhooks: readonly (readonly [uuid: string, body: WebhookBody])[]
  readonly floor: UidFloor
  /** Rows left out because their checksums do not match. */
  readonly damaged: number
}

/** Aborts a rebuild that would lose keys because the system cannot read them now. */
const unreadable = (what: string, error: unknown): StoreError =>
  new StoreError(
    `the task store is not rebuilt because ${what} cannot be read now (${error instanceof Error ? error.message : String(error)}). Nothing was changed; start again once the cause is removed`,
  )

/** True if an error does not concern the content of a file: no space, no file handles, a failing disk. */
function isSystemFault(error: unknown): boolean {
  if (error instanceof DriverLoadError) return true
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall !== undefined) return code !== 'ENOENT'
  return ['full', 'busy', 'io'].includes(storeFault(error))
}

/**
 * Reads a copy of the old store, so that the store itself is not changed. Returns null if it is missing or no database.
 * @throws StoreError if the system cannot read or copy it: its keys and webhooks would be lost
 */
async function salvage(tasks: string): Promise<Salvaged | null> {
  const copy = join(tasks, 'copy.db')
  const source = join(tasks, 'tasks.db')
  try {
    await copyFile(source, copy)
    await copyFile(`${source}-wal`, `${copy}-wal`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    return read(copy)
  } catch (error) {
    if (isSystemFault(error) || isMisread(copy, error)) throw unreadable(source, error)
    // The old store is unreadable. The new one is created without it.
    return null
  } finally {
    // Copies that cannot be removed are moved aside with the old store.
    for (const name of [copy, `${copy}-wal`, `${copy}-shm`])
      await rm(name, { force: true }).catch(() => undefined)
  }
}

function read(path: string): Salvaged {
  const connection = loadDriver().driver.open(path)
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    const rows = (sql: string) => connection.prepare(sql).all([])
    // Fails for a file that is no database.
    rows('SELECT count(*) FROM sqlite_schema')
    let damaged = 0
    /** Leaves out damaged rows, and the rest of a table after the position where SQLite fails to read it. */
    const each = <T>(sql: string, of: (row: Row) => T): readonly T[] => {
      const found: T[] = []
      try {
        for (const row of rows(sql)) {
          try {
            found.push(of(row))
          } catch {
            damaged++
          }
        }
      } catch (error) {
        // The rows read so far are kept.
        if (isSystemFault(error) || isMisread(path, error)) throw error
      }
      return found
    }
    const floorIn = (table: string) =>
      each(`SELECT max(uid) AS uid FROM ${table}`, ({ uid }) => number(uid)).find((uid) => uid < UIDS_MAX) ??
      -1
    const keys = each('SELECT * FROM keys', (row) => salvaged('keys', row) as StoredKey)
    const values = each(
      'SELECT * FROM instance',
      (row) => [text(row.name), salvaged('instance', row)] as const,
    )
    const webhooks = each(
      'SELECT * FROM webhooks WHERE body IS NOT NULL',
      (row) => [text(row.uuid), salvaged('webhooks', row) as WebhookBody] as const,
    )
    return {
      keys,
      values: values.filter(([name]) => !localValues.includes(name) && name !== UID_FLOOR_STORED_AS),
      webhooks,
      damaged,
      floor: { task: floorIn('tasks') + 1, batch: floorIn('batches') + 1 },
    }
  } finally {
    connection.close()
  }
}

/** @throws DamagedStoreError if the checksum of the row does not match; stores of version 5 have no checksums */
const salvaged = (table: SealedTable, row: Row): unknown =>
  row.checksum === undefined ? JSON.parse(text(row.body)) : unsealed(table, row)
