/** Here is a data directory that no server has open: which of its files are damaged? */
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Engine } from '../engine/index.js'
import { STORE_BYTES_MAX } from './limits.js'
import { expectCommits } from './recovery/recovery.js'
import { openSpool } from './spool.js'
import { requireCompleteStore, StoreUnusableError } from './store/completeness.js'
import { storePath } from './store/paths.js'
import { openStoreClient } from './store/store-client.js'
import type { Finding } from './tasks.js'
import { type VerifiedParts, verifyQueue } from './verify.js'

/**
 * Compares the task store with its checksums, and then everything that it names. Opens a copy of the store, so that the
 * directory stays as it is.
 * @param engine of the directory
 * @param checked called after each index
 * @throws DirectoryInUseError
 */
export async function verifyDirectory(
  directory: string,
  engine: Engine,
  checked: (finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  try {
    await requireCompleteStore(directory)
  } catch (error) {
    if (!(error instanceof StoreUnusableError)) throw error
    return [unusable(directory, error), ...(await withoutStore(directory, engine, checked))]
  }
  const copy = await mkdtemp(join(tmpdir(), 'siftd-verify-'))
  try {
    await copyStore(directory, copy)
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
      const { catalogue, nextBatchUid } = await store.call('start', [])
      expectCommits(engine, catalogue, nextBatchUid)
      const spool = await openSpool(join(directory, 'update_files'))
      return await verifyQueue({ engine, store, spool, rows: catalogue }, checked)
    } finally {
      await store.close()
    }
  } catch (error) {
    if (!(error instanceof Error && error.name === 'StoreError')) throw error
    return [unusable(directory, error), ...(await withoutStore(directory, engine, checked))]
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

const unusable = (directory: string, { message }: Error): Finding => ({
  indexUid: null,
  file: storePath(directory),
  problem: message,
  cost: 'the server does not start, and the history of tasks may be lost; indexes are not touched by it',
  isHarmful: true,
})

/** The indexes alone, by the names of their directories. */
function withoutStore(
  directory: string,
  engine: Engine,
  checked: (finished: number, total: number) => void,
): Promise<readonly Finding[]> {
  const store: VerifiedParts['store'] = { call: () => Promise.resolve([] as never) }
  return engine.list().then(async (ids) => {
    const rows = ids.map((id) => ({
      uid: id,
      id,
      primaryKey: null,
      createdAt: 0,
      updatedAt: 0,
      lastBatch: null,
    }))
    const spool = await openSpool(join(directory, 'update_files'))
    return verifyQueue({ engine, store, spool, rows }, checked)
  })
}

/** Copies the file of the store and its log. */
async function copyStore(from: string, to: string): Promise<void> {
  const [source, target] = [storePath(from), storePath(to)]
  await mkdir(dirname(target), { recursive: true })
  for (const suffix of ['', '-wal'])
    await copyFile(`${source}${suffix}`, `${target}${suffix}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
}
