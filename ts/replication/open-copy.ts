import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  copyNames,
  fetchFiles,
  type IndexFiles,
  type Log,
  type ObjectStore,
  partsThere,
  repeatingStore,
  withoutCommits,
} from '../bucket/index.js'
import { indexesPath } from '../tasks/index.js'
import type { Base } from './base.js'
import { type Fence, fenceOf } from './fence.js'
import { type CopySetup, type CopyTarget, InstanceCopy, PassedOverError } from './instance-copy.js'
import { LogState } from './log-state.js'
import { PartReader } from './part-reader.js'
import { prepareImage, Replica } from './replica.js'
import { baseUntil, restorableBase } from './until.js'

/** A copy of which the store is open. */
export interface OpenedCopy {
  readonly copy: InstanceCopy
  readonly replica: Replica
  /** Takes changes while no process serves the directory. */
  readonly target: CopyTarget
}

/**
 * Opens a copy in an empty directory or in one that was a copy before. An earlier copy stays readable as it was until the
 * first changes are applied. Then it keeps the files that the log still tells of.
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError, DamagedPartError, MomentGoneError
 */
export async function openCopy(setup: CopySetup, signal: AbortSignal): Promise<OpenedCopy> {
  const { directory, log, until, onDamaged = () => undefined } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const base = await (until === null
    ? baseUntil(null, log, store, signal)
    : restorableBase(until, log, store, signal))
  const replica = await Replica.open(directory, onDamaged)
  try {
    const copy = await begunWith(setup, base, replica, store, signal)
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

/** Begins with what the replica has, else with the image of a checkpoint. */
async function begunWith(
  setup: CopySetup,
  base: Base | null,
  replica: Replica,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log, onDamaged = () => undefined } = setup
  if (base !== null && replica.position < base.seq) await replica.becomes(base, store, signal)
  const begin = () => beginAt(setup, base, { position: replica.position, isOpen: false }, signal)
  try {
    return await begin()
  } catch (error) {
    if (!(error instanceof PassedOverError) || base === null) throw error
    if ((await log.newestBase(signal)) !== base.seq) throw error
    // No checkpoint has replaced the records, so there never were any: the copy is of another log.
    onDamaged(error)
    await replica.becomes(base, store, signal)
    return begin()
  }
}

/**
 * Continues a copy whose store is open, and has the log records up to `position`.
 * @throws PassedOverError, BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError
 */
export async function resumeCopy(
  setup: CopySetup,
  position: number,
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const base = await baseUntil({ seq: position }, log, store, signal)
  return beginAt(setup, base, { position, isOpen: true }, signal)
}

/**
 * Fetches what a copy lacks that the log has passed over, while it is served: the image of the newest checkpoint, and files
 * of indexes. After that `openCopy` has little left to fetch.
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError, DamagedPartError
 */
export async function prepareCopy(setup: CopySetup, signal: AbortSignal): Promise<void> {
  const { log, directory, progress } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const base = await baseUntil(null, log, store, signal)
  if (base === null) return
  await prepareImage(base, directory, store, signal)
  const parts = new PartReader(log, store)
  const { state } = await stateUntil(log, base, Number.POSITIVE_INFINITY, signal)
  let fetched = 0
  const total = state.bytes()
  for (const id of state.ids()) {
    const files = withoutCommits(state.files.of(id))
    const path = join(indexesPath(directory), id)
    const there = await partsThere(path, files, true)
    await fetchFiles({ there, files }, path, parts.reading(signal), (bytes) => {
      fetched += bytes
      progress(fetched, Math.max(fetched, total))
    })
  }
}

/**
 * What a directory has of the log, whose rows it has up to `position`.
 * @param isOpen whether an engine has it open
 */
async function beginAt(
  setup: CopySetup,
  base: Base | null,
  { position, isOpen }: { readonly position: number; readonly isOpen: boolean },
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log, directory, seed = null } = setup
  const { state, fence, next } = await stateUntil(log, base, position, signal)
  if (next <= position) throw new PassedOverError(`the log record ${next} is gone, which this copy has`)
  const indexes = indexesPath(directory)
  const there = new Map<string, IndexFiles>()
  for (const id of state.ids()) {
    const files = state.files.of(id)
    if (!isOpen && seed !== null)
      await copyNames(join(indexesPath(seed), id), join(indexes, id), files.keys())
    there.set(id, await partsThere(join(indexes, id), files, isOpen))
  }
  return new InstanceCopy(setup, { state, there, position, fence, isOpen, base: base?.seq ?? null })
}

/** Reads a checkpoint and the records behind it up to `last`, or to the end. @returns number of the record to read next, among others */
async function stateUntil(
  log: Log,
  base: Base | null,
  last: number,
  signal: AbortSignal,
): Promise<{ readonly state: LogState; readonly fence: Fence | null; readonly next: number }> {
  const state = new LogState()
  if (base !== null) state.load(base)
  let fence = base?.fence ?? null
  let next = (base?.seq ?? -1) + 1
  if (next > last) return { state, fence, next }
  for await (const entry of log.entries(next, signal)) {
    if (next > last) break
    state.apply(next, entry)
    if (entry.kind === 'fence') fence = fenceOf(next, entry)
    next++
  }
  return { state, fence, next }
}
