import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { indexesPath } from '../../tasks/index.js'
import type { Checkpoint } from '../log/checkpoint.js'
import { type Fence, fenceOf } from '../log/fence.js'
import { LogState } from '../log/log-state.js'
import { checkpointUntil, restorableCheckpoint } from '../log/until.js'
import {
  copyNames,
  fetchFiles,
  type IndexFiles,
  type Log,
  type ObjectStore,
  partsOnDisk,
  repeatingStore,
  withoutCommits,
} from '../object-store/index.js'
import { type CopySetup, type CopyTarget, InstanceCopy, LogTruncatedError } from './instance-copy.js'
import { PartReader } from './part-reader.js'
import { type CopiedStore, prepareImage, Replica } from './replica.js'
import { verifiedIn } from './verified-files.js'

/** A copy whose task store is open. */
export interface OpenedCopy {
  readonly copy: InstanceCopy
  readonly replica: CopiedStore
  /** Applies changes while no process serves the directory. */
  readonly target: CopyTarget
}

/**
 * Opens a copy in an empty directory or an earlier copy. An earlier copy stays readable as it was until the first
 * changes are applied. After that only files in the log are kept.
 * @throws BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError, DamagedPartError, MomentGoneError
 */
export async function openCopy(setup: CopySetup, signal: AbortSignal): Promise<OpenedCopy> {
  const { directory, log, until, onDamaged = () => undefined } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const checkpoint = await (until === null
    ? checkpointUntil(null, log, store, signal)
    : restorableCheckpoint(until, log, store, signal))
  const replica = await (setup.openStore ?? Replica.open)(directory, onDamaged)
  try {
    const copy = await begunWith(setup, checkpoint, replica, store, signal)
    const indexes = indexesPath(directory)
    const target: CopyTarget = {
      adopt: async () => undefined,
      apply: (changes, to) => replica.apply(changes, to),
      drop: (id) => rm(join(indexes, id), { recursive: true, force: true }),
    }
    return { copy, replica, target }
  } catch (error) {
    await replica.close()
    throw error
  }
}

/** Continues from the state of the replica if possible, else from the image of a checkpoint. */
async function begunWith(
  setup: CopySetup,
  checkpoint: Checkpoint | null,
  replica: CopiedStore,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log, onDamaged = () => undefined } = setup
  if (checkpoint !== null && replica.position < checkpoint.seq)
    await replica.becomes(checkpoint, store, signal)
  const begin = () => beginAt(setup, checkpoint, { position: replica.position, isOpen: false }, signal)
  try {
    return await begin()
  } catch (error) {
    if (!(error instanceof LogTruncatedError) || checkpoint === null) throw error
    if ((await log.newestCheckpoint(signal)) !== checkpoint.seq) throw error
    // No newer checkpoint has replaced the records, so they never existed: the copy belongs to another log.
    onDamaged(error)
    await replica.becomes(checkpoint, store, signal)
    return begin()
  }
}

/**
 * Continues a copy whose store is open and has the log records up to `position`.
 * @throws LogTruncatedError, BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError
 */
export async function resumeCopy(
  setup: CopySetup,
  position: number,
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const checkpoint = await checkpointUntil({ seq: position }, log, store, signal)
  return beginAt(setup, checkpoint, { position, isOpen: true }, signal)
}

/**
 * Fetches the image and the index files of the newest checkpoint while an outdated copy is served. After that
 * `openCopy` has little left to fetch.
 * @throws BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError, DamagedPartError
 */
export async function prepareCopy(setup: CopySetup, signal: AbortSignal): Promise<void> {
  const { log, directory, progress } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const checkpoint = await checkpointUntil(null, log, store, signal)
  if (checkpoint === null) return
  await prepareImage(checkpoint, directory, store, signal)
  const parts = new PartReader(log, store)
  const { state } = await stateUntil(log, checkpoint, Number.POSITIVE_INFINITY, signal)
  let fetched = 0
  const total = state.bytes()
  const known = await verifiedIn(directory)
  for (const id of state.ids()) {
    const files = withoutCommits(state.files.of(id))
    const path = join(indexesPath(directory), id)
    const present = await partsOnDisk(path, files, true, known(id))
    await fetchFiles({ present, files }, path, parts.reading(signal), (bytes) => {
      fetched += bytes
      progress(fetched, Math.max(fetched, total))
    })
  }
}

/**
 * Compares a directory, which has the rows up to `position`, with the log.
 * @param isOpen true if an engine has the directory open
 */
async function beginAt(
  setup: CopySetup,
  checkpoint: Checkpoint | null,
  { position, isOpen }: { readonly position: number; readonly isOpen: boolean },
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log, directory, seed = null } = setup
  const { state, fence, next } = await stateUntil(log, checkpoint, position, signal)
  if (next <= position)
    throw new LogTruncatedError(`the log record ${next} is gone, although this copy has applied it`)
  const indexes = indexesPath(directory)
  const present = new Map<string, IndexFiles>()
  const known = await verifiedIn(directory)
  for (const id of state.ids()) {
    const files = state.files.of(id)
    if (!isOpen && seed !== null)
      await copyNames(join(indexesPath(seed), id), join(indexes, id), files.keys())
    present.set(id, await partsOnDisk(join(indexes, id), files, isOpen, known(id)))
  }
  return new InstanceCopy(setup, { state, present, position, fence, isOpen, base: checkpoint?.seq ?? null })
}

/**
 * Reads a checkpoint and the records after it, up to `last` or the end. `next` is the number of the first unread
 * record.
 */
async function stateUntil(
  log: Log,
  checkpoint: Checkpoint | null,
  last: number,
  signal: AbortSignal,
): Promise<{ readonly state: LogState; readonly fence: Fence | null; readonly next: number }> {
  const state = new LogState()
  if (checkpoint !== null) state.load(checkpoint)
  let fence = checkpoint?.fence ?? null
  let next = (checkpoint?.seq ?? -1) + 1
  if (next > last) return { state, fence, next }
  for await (const record of log.records(next, signal, last)) {
    state.apply(next, record)
    if (record.kind === 'fence') fence = fenceOf(next, record)
    next++
  }
  return { state, fence, next }
}
