import type { Fence } from '../log/fence.js'
import type { LogState } from '../log/log-state.js'
import { repeatingStore } from '../object-store/index.js'
import { fetchUploads } from '../publish/uploads.js'
import type { CopySetup } from './instance-copy.js'
import { openCopy } from './open-copy.js'

/** Result of a restore. */
export interface Restored {
  /** The last log record that was applied. */
  readonly position: number
  readonly state: LogState
  /** Keys of upload parts that the bucket no longer has. Happens only when an earlier point of the log is restored. */
  readonly missing: readonly string[]
  /** The last fence that was read. */
  readonly fence: Fence | null
}

/**
 * Restores the task store, uploads and indexes of an instance from a checkpoint and the log records after it.
 * @throws BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError, DamagedPartError; the directory is
 * unusable then
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
