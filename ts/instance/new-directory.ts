import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../engine/index.js'
import { entriesOf } from './data-directory.js'

/** A data directory that is about to be opened. */
interface PreparedDirectory {
  /** Removes the files of the failed start, if there was no data before and no other process has the directory open. */
  undo(): Promise<void>
}

/** Creates the directory `path` if it is absent. @throws errors of the system; then nothing was created */
export async function prepareDirectory(path: string): Promise<PreparedDirectory> {
  const isNew = (await entriesOf(path)).length === 0
  const made: string[] = []
  const removeMade = (): void => {
    for (const directory of made.toReversed()) rmdirSync(directory)
  }
  try {
    await makeDirectory(path, undefined, made)
  } catch (error) {
    removeMade()
    throw error
  }
  return {
    async undo() {
      if (!isNew || existsSync(join(path, 'tasks', 'lock'))) return
      try {
        for (const name of await readdir(path)) rmSync(join(path, name), { recursive: true })
        removeMade()
      } catch {
        // The failure of the start is reported anyway. The next start opens the remains like an empty directory.
      }
    },
  }
}
