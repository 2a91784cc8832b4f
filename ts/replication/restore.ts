import { join } from 'node:path'
import { fetchFiles, type Log, type ObjectStore, type Repeating, repeatingStore } from '../bucket/index.js'
import { imagePath, openReplicaStore } from '../tasks/index.js'
import { fetchImage, readBase } from './base.js'
import { LogState } from './log-state.js'
import { partReader } from './part-reader.js'

export interface RestoreSetup {
  readonly log: Log
  readonly store: ObjectStore
  readonly repeating: Repeating
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
 * Makes the task store and the indexes of an instance from its newest base and the entries behind it.
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError, DamagedPartError; the directory is of no use
 * then
 */
export async function restoreInstance(setup: RestoreSetup): Promise<Restored> {
  const { log, directory, signal } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const state = new LogState()
  const newest = await log.newestBase(signal)
  if (newest !== null) {
    const base = await readBase(store, newest, signal)
    state.load(base)
    await fetchImage(base.image.parts, imagePath(directory), store, signal)
  }
  const position = await replay({ log, directory, signal }, state, newest)
  const read = partReader(log, store, signal)
  for (const id of state.ids())
    await fetchFiles(state.files.of(id), join(directory, 'indexes', id), read, () => undefined)
  return { position, state }
}

/** Applies the entries behind a base. @returns number of the last one */
async function replay(
  { log, directory, signal }: Pick<RestoreSetup, 'log' | 'directory' | 'signal'>,
  state: LogState,
  base: number | null,
): Promise<number> {
  const replica = await openReplicaStore(directory)
  try {
    if (base !== null) await replica.apply({}, base)
    for (let seq = (base ?? -1) + 1; ; seq++) {
      const entry = await log.read(seq, signal)
      if (entry === null) return seq - 1
      const changes = state.apply(seq, entry)
      if (changes !== null) await replica.apply(changes, seq)
    }
  } finally {
    await replica.close()
  }
}
