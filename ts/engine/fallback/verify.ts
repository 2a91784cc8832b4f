import { join } from 'node:path'
import type { Damage } from '../engine.js'
import { readSnapshot } from './index-data/snapshot.js'
import { LOG_FILE, SNAPSHOT_FILE } from './open-index.js'
import { DamagedFileError } from './store/frames.js'
import { readLog } from './store/log.js'

/** Reads all files of an index, and returns those that do not decode. */
export async function damagesIn(directory: string): Promise<readonly Damage[]> {
  const log = join(directory, LOG_FILE)
  const snapshot = join(directory, SNAPSHOT_FILE)
  return [
    ...(await damage(log, () =>
      readLog(log, ({ documents }) => {
        for (const { source } of documents) JSON.parse(Buffer.from(source).toString())
      }),
    )),
    ...(await damage(snapshot, () => readSnapshot(snapshot))).map((found) => ({
      ...found,
      isHarmless: true,
    })),
  ]
}

/** Returns the damage found by reading a file; empty if it is intact. */
async function damage(path: string, read: () => Promise<unknown>): Promise<Damage[]> {
  try {
    await read()
    return []
  } catch (error) {
    return [{ path, reason: error instanceof DamagedFileError ? error.message : String(error) }]
  }
}
