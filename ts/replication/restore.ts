import { join } from 'node:path'
import { decodeBody, type FilePart, fetchFiles, type Log, type ObjectStore } from '../bucket/index.js'
import { openReplicaStore } from '../tasks/index.js'
import { LogState } from './log-state.js'

export interface RestoreSetup {
  readonly log: Log
  readonly store: ObjectStore
  /** The data directory, which holds nothing yet. */
  readonly directory: string
  readonly signal: AbortSignal
}

/** What was restored. */
export interface Restored {
  /** The last entry of the log. */
  readonly position: number
  readonly state: LogState
}

/**
 * Makes the task store and the indexes of an instance from its log.
 * @throws BucketError, DamagedEntryError, DamagedBodyError, DamagedPartError; the directory is of no use then
 */
export async function restoreInstance({ log, store, directory, signal }: RestoreSetup): Promise<Restored> {
  const state = new LogState()
  const replica = await openReplicaStore(directory)
  let seq = 0
  try {
    for (; ; seq++) {
      const entry = await log.read(seq, signal)
      if (entry === null) break
      const changes = state.apply(seq, entry)
      if (changes !== null) await replica.apply(changes, seq)
    }
  } finally {
    await replica.close()
  }
  const read = async ({ place, bytes }: FilePart): Promise<Uint8Array | null> => {
    if ('key' in place) return store.get(place.key, { bytesMax: bytes, signal })
    const entry = await log.read(place.seq, signal)
    return entry === null ? null : decodeBody(entry.body).inline.subarray(place.at, place.at + bytes)
  }
  for (const id of state.ids())
    await fetchFiles(state.files.of(id), join(directory, 'indexes', id), read, () => undefined)
  return { position: seq - 1, state }
}
