import { repeatingStore } from '../bucket/index.js'
import type { Fence } from './fence.js'
import type { CopySetup } from './instance-copy.js'
import type { LogState } from './log-state.js'
import { openCopy } from './open-copy.js'
import { fetchUploads } from './uploads.js'

/** What was restored. */
export interface Restored {
  /** The last entry of the log that it has. */
  readonly position: number
  readonly state: LogState
  /** Keys of parts of uploads that the bucket does not have any more, which happens to former moments alone. */
  readonly missing: readonly string[]
  /** The last fence up to there. */
  readonly fence: Fence | null
}

/**
 * Makes the task store, the uploads and the indexes of an instance from a base and the entries behind it.
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError, DamagedPartError; the directory is of no use
 * then
 */
export async function restoreInstance(setup: CopySetup, signal: AbortSignal): Promise<Restored> {
  const { copy, replica, target } = await openCopy(setup, signal)
  try {
    while (!(await copy.advance(target, signal)));
    const store = repeatingStore(setup.store, setup.repeating)
    const missing = await fetchUploads(await replica.uploads(), setup.directory, store, signal)
    return { position: copy.position, state: copy.state, missing, fence: copy.fence }
  } finally {
    await replica.close()
  }
}
