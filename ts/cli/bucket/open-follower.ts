/** Opens a data directory that becomes what another server writes to the bucket. */
import { BucketError } from '../../bucket/index.js'
import { openProgress } from '../../command/index.js'
import { copyStage, noteEngine, setCopyStage } from '../../instance/index.js'
import { LaunchError } from '../../launch/index.js'
import {
  type CopyTarget,
  Follower,
  type InstanceCopy,
  notTheWriter,
  openCopy,
  PassedOverError,
  readOwnState,
  resumeCopy,
} from '../../replication/index.js'
import { openReplicaStore } from '../../tasks/index.js'
import { beginCopy, copySetup, type DirectoryRequest, holdsNothing, setAside } from './copy-directory.js'
import type { Kept, KeptRequest } from './kept.js'
import { originOf } from './open-bucket.js'
import { requiredToStart, withinStart } from './within-start.js'

/** @throws LaunchError; the reason of the signal */
export async function openFollower(request: KeptRequest): Promise<Kept> {
  const { directory, bucket, options, log } = request
  if (!(await holdsNothing(directory)) && (await copyStage(directory)) === null) await makeCopy(request)
  // A copy that is whole is served while the bucket does not answer.
  const stage = await copyStage(directory)
  const isWhole = stage === 'whole' || stage === 'superseded'
  const copy = isWhole
    ? await withinStart(request, (signal) => copied(request, signal))
    : await requiredToStart(request, (signal) => originOf(bucket, signal)).then(() =>
        copied(request, request.signal),
      )
  await setCopyStage(directory, options.follow ? 'whole' : 'superseded')
  let follower: Follower | null = null
  const instance = await request.openFollowed(() => notTheWriter(follower?.figures().writer ?? null))
  const { engine } = instance.opened
  const target: CopyTarget = {
    adopt: (id) => engine.adopt(id),
    apply: (changes, position) => instance.queue.follow(changes, position),
    drop: (id) => engine.drop(id),
  }
  const setup = { log: bucket.log, store: bucket.store, repeating: bucket.repeating, directory, until: null }
  follower = new Follower({
    open: async (signal) =>
      resumeCopy({ ...setup, progress: () => undefined }, (await instance.queue.position()) ?? -1, signal),
    copy,
    target,
    newestBase: (signal) => bucket.log.newestBase(signal),
    intervalMs: options.bucketInterval,
    log,
    onPassedOver: () => request.onEnd(true),
  })
  return { instance, sender: null, follower }
}

/** Makes a copy of a directory with its own history: what the bucket does not have of that is set aside. */
async function makeCopy({ directory, bucket, signal, log }: KeptRequest): Promise<void> {
  const replica = await openReplicaStore(directory)
  const { outbox, position } = replica
  if (position !== null && outbox?.unsent === 0) await replica.endKeeping()
  await replica.close()
  if (position === null && outbox === null)
    throw new LaunchError(
      `--bucket: ${directory} holds data that was never kept in the bucket, or was used without it since; choose an empty --db-path`,
      1,
    )
  if (position !== null && (outbox?.unsent ?? 0) === 0) return setCopyStage(directory, 'whole')
  const { fence } = await readOwnState(
    bucket,
    { position: position ?? -1, writer: outbox?.outbox ?? '' },
    signal,
  )
  const unsent = outbox?.unsent ?? 0
  const aside = await setAside(directory, fence?.seq ?? 0, unsent)
  log.warn({ unsent, directory: aside }, 'what the bucket does not have was set aside')
}

/** Brings a directory up to the end of the log. */
async function copied(request: KeptRequest, signal: AbortSignal): Promise<InstanceCopy> {
  const { bucket, directory, version, options, log } = request
  const origin = await originOf(bucket, signal)
  if (origin === null)
    throw new LaunchError(`--bucket: ${options.bucket} is empty: there is nothing to follow`, 1)
  const line = await openProgress(process.stderr, (doing, finished, total) =>
    log.info({ finished, total }, doing),
  )
  const copying: DirectoryRequest = {
    ...{ bucket, origin, directory, version, signal },
    progress: (...given) => line.show(...given),
  }
  try {
    await beginCopy(copying)
    for (;;) {
      try {
        return await copiedOnce(copying)
      } catch (error) {
        if (!(error instanceof PassedOverError)) throw error
      }
    }
  } finally {
    line.end()
  }
}

async function copiedOnce(request: DirectoryRequest): Promise<InstanceCopy> {
  const { directory, signal } = request
  const { copy, replica, target } = await openCopy(copySetup(request, null), signal)
  try {
    while (!(await copy.advance(target, signal)));
  } finally {
    await replica.close()
  }
  if (copy.fence === null) throw new BucketError('the log does not begin with a fence', 'malformed')
  await noteEngine(directory, copy.fence.engine)
  await setCopyStage(directory, 'whole')
  return copy
}
