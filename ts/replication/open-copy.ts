import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type IndexFiles,
  type ObjectStore,
  partsThere,
  removeUnknown,
  repeatingStore,
} from '../bucket/index.js'
import { imagePath, indexesPath, openReplicaStore, type ReplicaStore, removeStore } from '../tasks/index.js'
import { type Base, fetchImage } from './base.js'
import { fenceOf } from './fence.js'
import { type CopySetup, type CopyTarget, InstanceCopy, PassedOverError } from './instance-copy.js'
import { LogState } from './log-state.js'
import { baseUntil } from './until.js'

/** A copy of which the store is open. */
export interface OpenedCopy {
  readonly copy: InstanceCopy
  readonly replica: ReplicaStore
  /** What is told of news while no process serves the directory. */
  readonly target: CopyTarget
}

/**
 * Opens a copy in an empty directory or in one that was a copy before. An earlier copy keeps its files that the log still tells of.
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError, DamagedPartError
 */
export async function openCopy(setup: CopySetup, signal: AbortSignal): Promise<OpenedCopy> {
  const { log, directory, until } = setup
  const store = repeatingStore(setup.store, setup.repeating)
  const base = await baseUntil(until, log, store, signal)
  const replica = await replicaBehind(base, directory, store, signal)
  try {
    const copy = await beginAt(setup, base, { position: replica.position ?? -1, isOpen: false }, signal)
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

/**
 * Goes on with a copy whose store is open, and has the entries up to `position`.
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

/** The store of a directory, which becomes the image of the base unless it is further. */
async function replicaBehind(
  base: Base | null,
  directory: string,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<ReplicaStore> {
  const found = await openReplicaStore(directory)
  if (base === null || (found.position ?? -1) >= base.seq) return found
  await found.close()
  await removeStore(directory)
  await fetchImage(base.image.parts, imagePath(directory), store, signal)
  const replica = await openReplicaStore(directory)
  await replica.apply({}, base.seq)
  return replica
}

/**
 * What a directory has of the log, whose rows it has up to `position`.
 * @param isOpen whether an engine has it open. If not, files that the log does not tell of are removed
 */
async function beginAt(
  setup: CopySetup,
  base: Base | null,
  { position, isOpen }: { readonly position: number; readonly isOpen: boolean },
  signal: AbortSignal,
): Promise<InstanceCopy> {
  const { log, directory } = setup
  const state = new LogState()
  if (base !== null) state.load(base)
  let fence = base?.fence ?? null
  let seq = (base?.seq ?? -1) + 1
  for await (const entry of log.entries(seq, signal)) {
    if (seq > position) break
    state.apply(seq, entry)
    if (entry.kind === 'fence') fence = fenceOf(seq, entry)
    seq++
  }
  if (seq <= position) throw new PassedOverError(`the entry ${seq} is gone, which this copy has`)
  const indexes = indexesPath(directory)
  const there = new Map<string, IndexFiles>()
  for (const id of state.ids()) {
    const files = state.files.of(id)
    if (!isOpen) await removeUnknown(join(indexes, id), files)
    there.set(id, await partsThere(join(indexes, id), files, isOpen))
  }
  for (const name of isOpen ? [] : await readdir(indexes).catch(() => []))
    if (!there.has(name)) await rm(join(indexes, name), { recursive: true, force: true })
  return new InstanceCopy(setup, { state, there, position, fence })
}
