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
  prepareCopy,
  readOwnState,
  resumeCopy,
} from '../../replication/index.js'
import { openReplicaStore, StoreError } from '../../tasks/index.js'
import { beginCopy, copySetup, type DirectoryRequest, holdsNothing, setAside } from './copy-directory.js'
import type { Kept, KeptRequest } from './kept.js'
import { type Origin, originOf } from './open-bucket.js'
import { requiredToStart, withinStart } from './within-start.js'

/** @throws LaunchError; the reason of the signal */
export async function openFollower(request: KeptRequest): Promise<Kept> {
  const { directory, bucket, options, log } = request
  if (!(await holdsNothing(directory)) && (await copyStage(directory)) === null) await makeCopy(request)
  const stage = await copyStage(directory)
  const isWhole = stage === 'whole' || stage === 'superseded'
  const copy = isWhole
    ? await currentCopy(request)
    : await requiredToStart(request, (signal) => originIn(request, signal)).then((origin) =>
        copied(request, origin, request.signal),
      )
  await setCopyStage(directory, options.follow ? 'whole' : 'superseded')
  let follower: Follower | null = null
  const instance = await request
    .openFollowed(() => notTheWriter(follower?.figures().writer ?? null))
    .catch((error: unknown) => {
      const isDamaged = error instanceof StoreError && error.reason === 'StoreUnusableError'
      if (!isDamaged) throw error
      throw new LaunchError(
        `--bucket: the copy in ${directory} is damaged, and the bucket does not answer: start again once it does, and the copy is fetched again`,
        1,
        { cause: error },
      )
    })
  const { engine } = instance.opened
  const target: CopyTarget = {
    adopt: (id) => engine.adopt(id),
    apply: (changes, position) => instance.queue.follow(changes, position),
    drop: (id) => engine.drop(id),
  }
  const setup = {
    ...{ log: bucket.log, store: bucket.store, repeating: bucket.repeating, directory, until: null },
    progress: () => follower?.answered(),
  }
  follower = new Follower({
    open: async (signal) => resumeCopy(setup, (await instance.queue.position()) ?? -1, signal),
    prepare: (signal) => prepareCopy(setup, signal),
    copy,
    target,
    newestBase: (signal) => bucket.log.newestBase(signal),
    intervalMs: options.bucketInterval,
    log,
    onPassedOver: () => request.onEnd(true),
  })
  bucket.onFailure((error) => follower?.failed(error))
  return { instance, sender: null, follower }
}

/**
 * Brings a copy that can be served up to the end of the log, if that takes no longer than a start waits.
 * @returns null: it is served as it is, and follows from there
 */
async function currentCopy(request: KeptRequest): Promise<InstanceCopy | null> {
  let hasAnswered = false
  const copying = async (signal: AbortSignal, unlimited: () => void): Promise<InstanceCopy> => {
    const origin = await originIn(request, signal)
    hasAnswered = true
    return copied(request, origin, signal, unlimited)
  }
  return withinStart(request, copying, () =>
    hasAnswered
      ? 'the copy lacks much of what the bucket has: the server starts with what is here, and fetches the rest meanwhile'
      : 'the bucket does not answer: the server starts without it, and asks again',
  )
}

/** @throws LaunchError if the bucket is empty */
async function originIn({ bucket, options }: KeptRequest, signal: AbortSignal): Promise<Origin> {
  const origin = await originOf(bucket, signal)
  if (origin === null)
    throw new LaunchError(`--bucket: ${options.bucket} is empty: there is nothing to follow`, 1)
  return origin
}

/** Makes a copy of a directory with its own history: what the bucket does not have of that is set aside. */
export async function makeCopy({ directory, bucket, signal, log }: KeptRequest): Promise<void> {
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

/** Brings a directory up to the end of the log. @param unlimited called when it cannot be served before that */
async function copied(
  request: KeptRequest,
  origin: Origin,
  signal: AbortSignal,
  unlimited: () => void = () => undefined,
): Promise<InstanceCopy> {
  const { bucket, directory, version, log } = request
  const line = await openProgress(process.stderr, (doing, finished, total) =>
    log.info({ finished, total }, doing),
  )
  const copying: DirectoryRequest = {
    ...{ bucket, origin, directory, version, signal, log },
    onDamaged: unlimited,
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
  const { copy, replica, target } = await openCopy(await copySetup(request, null), signal)
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
