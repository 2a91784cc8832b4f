/** Takes a snapshot of a data directory that no process has open. */
import { constants, existsSync } from 'node:fs'
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { copyStoreIntoOneFile } from '../sqlite/index.js'
import type { SnapshotSource } from './execute/snapshot-source.js'
import { indexesPath, storePath, uploadsPath } from './store/paths.js'

/**
 * Copies the complete directory, byte for byte, in the formats of the version that wrote it. Changes nothing in it.
 * @param directory claimed by the caller
 * @param signal aborting it makes the snapshot reject
 * @returns null if there is no task store and hence no data
 */
export async function sourceAtRest(directory: string, signal: AbortSignal): Promise<SnapshotSource | null> {
  if (!existsSync(storePath(directory))) return null
  const uploads = uploadsPath(directory)
  return {
    startedAt: new Date(),
    async freeze(path) {
      await copyStoreIntoOneFile(storePath(directory), path)
      const ids = await directoriesIn(indexesPath(directory))
      return {
        indexes: ids.map((id) => ({
          id,
          async copyTo(target) {
            const from = join(indexesPath(directory), id)
            await cp(from, target, { recursive: true, mode: constants.COPYFILE_FICLONE })
            return true
          },
        })),
        uploads: (await entriesIn(uploads)).map(({ name }) => join(uploads, name)),
        release: () => Promise.resolve(),
      }
    },
    signal,
    step: () => undefined,
    count: () => undefined,
  }
}

const directoriesIn = async (path: string): Promise<readonly string[]> =>
  (await entriesIn(path))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()

/** Returns no entries if the directory does not exist. */
const entriesIn = (path: string) =>
  readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
