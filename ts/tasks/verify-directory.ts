/** Finds the damaged files of a data directory that no server has open. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Engine } from '../engine/index.js'
import { makeDirectory } from '../engine/index.js'
import { claim, copyStoreAtRest, requireFree } from '../sqlite/index.js'
import { catalogueFilePath, readCatalogueFile } from './catalogue/catalogue-file.js'
import { STORE_BYTES_MAX } from './limits.js'
import { expectCommits, unrecordedIn } from './recovery/expected-commits.js'
import { openSpool } from './spool.js'
import {
  inspectStore,
  type LostProtection,
  lostProtections,
  objection,
  refusal,
} from './store/completeness.js'
import { storePath, uploadsPath } from './store/paths.js'
import type { CatalogueRow } from './store/records.js'
import { openStoreClient } from './store/store-client.js'
import type { Finding } from './tasks.js'
import { verifyIndexes, verifyQueue } from './verify.js'

/**
 * Keeps other processes from opening a data directory until the returned function is called.
 * @throws DirectoryInUseError
 */
export async function claimDirectory(directory: string): Promise<() => void> {
  const tasks = dirname(storePath(directory))
  return existsSync(tasks) ? claim(join(tasks, 'lock')) : () => undefined
}

/** @throws DirectoryInUseError if a running process has the data directory open. Changes nothing. */
export const requireUnclaimed = (directory: string): Promise<void> =>
  requireFree(join(dirname(storePath(directory)), 'lock'))

/**
 * Compares the task store with its checksums, and then checks everything that it names. Opens a copy of the store, so
 * that the directory is not changed.
 * @param directory claimed by the caller
 * @param engine of the directory
 * @param checked called after each index
 */
export async function verifyDirectory(
  directory: string,
  engine: Engine,
  checked: (finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  const found = inspectStore(directory)
  const unprotected = lostProtections(directory, found).map(protectionLost)
  const reason = objection(found)
  if (reason !== null)
    return [unusable(directory, refusal(directory, reason)), ...(await withoutStore(engine, checked))]
  const copy = await mkdtemp(join(tmpdir(), 'siftd-verify-'))
  try {
    await makeDirectory(dirname(storePath(copy)))
    await copyStoreAtRest(storePath(directory), storePath(copy))
    const store = await openStoreClient(
      {
        directory: copy,
        isNew: true,
        isCompared: false,
        driver: null,
        reserveBytes: 0,
        storeBytesMax: STORE_BYTES_MAX,
      },
      () => undefined,
    )
    try {
      const start = await store.call('start', [])
      const { catalogue } = start
      expectCommits(engine, catalogue, unrecordedIn(start))
      const spool = await openSpool(uploadsPath(directory))
      return [
        ...unprotected,
        ...(await lostCatalogueFile(directory, catalogue)),
        ...(await verifyQueue({ engine, store, spool, rows: catalogue }, checked)),
      ]
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof Error && error.name === 'StoreError')) throw error
    return [unusable(directory, error), ...(await withoutStore(engine, checked))]
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** Creates the finding for a protecting file. Without it, a second fault may be undetected or beyond repair. */
export const protectionLost = ({ file, problem }: LostProtection): Finding => ({
  indexUid: null,
  file,
  problem,
  cost: 'nothing yet: the next start writes it again, and until then a further fault may go unnoticed',
  isHarmful: false,
  isProtectionLost: true,
})

/** Checks the list of indexes that a rebuild of the task store reads. */
async function lostCatalogueFile(
  directory: string,
  catalogue: readonly CatalogueRow[],
): Promise<readonly Finding[]> {
  const file = catalogueFilePath(directory)
  const names = await readCatalogueFile(directory)
  if (names === null)
    return catalogue.length === 0 && !existsSync(file)
      ? []
      : [protectionLost({ file, problem: 'it is missing, or its checksum does not match' })]
  return []
}

const unusable = (directory: string, { message }: Error): Finding => ({
  indexUid: null,
  file: storePath(directory),
  problem: message,
  cost: 'the server does not start, and the history of tasks may be lost; indexes are not touched by it',
  isHarmful: true,
})

/** Checks only the indexes, by the names of their directories. */
async function withoutStore(
  engine: Engine,
  checked: (finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  const indexes = (await engine.list()).map((id) => ({ uid: id, id }))
  return verifyIndexes(engine, indexes, checked)
}
