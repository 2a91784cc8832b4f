/** Copies a task store that no process has open. */
import { constants } from 'node:fs'
import { copyFile, rm } from 'node:fs/promises'
import { loadDriver } from './driver.js'
import { Sql } from './sql.js'

/** Copies the file of a store and its log, if they exist. The target directory must exist. */
export async function copyStoreAtRest(from: string, to: string): Promise<void> {
  for (const suffix of ['', '-wal'])
    await copyFile(`${from}${suffix}`, `${to}${suffix}`, constants.COPYFILE_FICLONE).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      },
    )
}

/** Copies a store as `copyStoreAtRest` does, but into one file without a log. Keeps its version and its rows. */
export async function copyStoreIntoOneFile(from: string, to: string): Promise<void> {
  await copyStoreAtRest(from, to)
  const connection = loadDriver().driver.open(to)
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    if (new Sql(connection).number('PRAGMA wal_checkpoint(TRUNCATE)', 'busy') !== 0)
      throw new Error(`the log of the task store ${from} could not be copied into the copy of its file`)
  } finally {
    connection.close()
  }
  for (const suffix of ['-wal', '-shm']) await rm(`${to}${suffix}`, { force: true })
}
