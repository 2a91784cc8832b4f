/** Opens a data directory as a follower. */

import {
  copyState,
  type FollowerInstance,
  markDataDirectory,
  recordEngine,
  setCopyState,
} from '../../instance/index.js'
import { LaunchError } from '../../launch/index.js'
import { openReplicaStore, type ReplicaStore, StoreError } from '../../tasks/index.js'
import { Election } from '../elect/election.js'
import { roleOf } from '../elect/role-of.js'
import { stand } from '../lead/connect.js'
import { notLeader } from '../lead/refusals.js'
import { HINTED_POLL_MS } from '../limits.js'
import { NewerFormatError } from '../log/format.js'
import { BucketError } from '../object-store/index.js'
import { type Origin, originOf } from '../open-bucket.js'
import { PositionWatch } from '../position-watch.js'
import { readOwnState } from '../publish/own-state.js'
import type { ReplicatedInstance, ReplicationRequest } from '../replicated-instance.js'
import { requiredToStart, withinStart } from '../within-start.js'
import { beginCopy, copySetup, type DirectoryRequest, isEmpty, setAside } from './copy-directory.js'
import { type Candidacy, Follower } from './follower.js'
import { type CopyTarget, type InstanceCopy, LogTruncatedError } from './instance-copy.js'
import { openCopy, prepareCopy, resumeCopy } from './open-copy.js'

/** @throws LaunchError; the reason of the signal */
export async function openFollower(request: ReplicationRequest): Promise<ReplicatedInstance> {
  const { directory, bucket, options, version, log, peers } = request
  if (!(await isEmpty(directory)) && (await copyState(directory)) === null) await makeCopy(request)
  const stage = await copyState(directory)
  const isComplete = stage === 'whole' || stage === 'superseded'
  // A copy may be of an older version, and the bucket may not answer.
  if (isComplete) await markDataDirectory(directory, version, null)
  const copy = isComplete
    ? await currentCopy(request)
    : await requiredToStart(request, (signal) => originIn(request, signal)).then((origin) =>
        copied(request, origin, request.signal),
      )
  await setCopyState(directory, options.follow ? 'whole' : 'superseded')
  let follower: Follower | null = null
  const watch = new PositionWatch()
  const instance = await request
    .openFollowed(() => notLeader(follower?.figures().writer ?? null))
    .catch((error: unknown) => {
      const isDamaged = error instanceof StoreError && error.reason === 'StoreUnusableError'
      if (!isDamaged) throw error
      throw new LaunchError(
        `--bucket: the copy in ${directory} is damaged, and the bucket does not answer; start again once it does, to fetch the copy again`,
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
    candidacy:
      options.candidate !== 'no'
        ? await candidacyOf(request, instance, (promotion) => follower?.becomesLeader(promotion))
        : null,
    newestCheckpoint: (signal) => bucket.log.newestCheckpoint(signal),
    intervalMs: options.bucketInterval,
    // Hints must not make a follower seem stale.
    hintedMs: Math.min(HINTED_POLL_MS, (options.followStaleAfter * 1000) / 2),
    ...{ peers, watch, log },
    onTruncated: () => request.onEnd('follower'),
  })
  bucket.onFailure((error) => follower?.failed(error))
  return { instance, sender: null, follower, watch }
}

/** Lets a follower become the leader in this process. */
async function candidacyOf(
  request: ReplicationRequest,
  instance: FollowerInstance,
  onPromotion: (promotion: Promise<void>) => void,
): Promise<Candidacy> {
  const { bucket, options, version, log, peers } = request
  const identity = await instance.queue.identify()
  const address = options.advertisedUrl
  const election = new Election({
    ...{ store: bucket.store, repeating: bucket.repeating, identity, address, log },
    isAnswering: async (leader) => (await roleOf(peers, leader)) === 'writer',
  })
  return {
    async polled({ fence, position, handedTo, state }, hintedAt, signal) {
      // Only a server that can write to the bucket is a candidate.
      await bucket.requireFit(signal)
      const sentBy = state.reached?.outbox ?? null
      return fence !== null && election.polled({ position, fence, sentBy, handedTo, hintedAt }, signal)
    },
    async stand({ next, state, base }, signal) {
      const successor = {
        ...{ instanceUid: instance.data.instanceUid, address, engine: instance.opened.kind, version },
        ...{ heartbeats: true, writer: identity, next, known: { state, base } },
      }
      const taken = await stand(bucket, successor, signal)
      if (taken === null) log.info({}, 'another server was faster: this one follows on')
      else onPromotion(request.onElected(taken))
      return taken !== null
    },
  }
}

/**
 * Applies the log to a complete copy up to its end, within the time limit of a start.
 * @returns null if this takes longer, or if a newer version writes the log: the copy is served as it is and follows
 * from there
 */
async function currentCopy(request: ReplicationRequest): Promise<InstanceCopy | null> {
  let hasAnswered = false
  const copying = async (signal: AbortSignal, unlimited: () => void): Promise<InstanceCopy> => {
    const origin = await originIn(request, signal)
    hasAnswered = true
    return copied(request, origin, signal, unlimited)
  }
  return withinStart(request, copying, () =>
    hasAnswered
      ? 'the copy is far behind the bucket: the server starts with the current copy and fetches the rest meanwhile'
      : 'the bucket does not answer: the server starts without it and retries',
  ).catch((error: unknown) => {
    if (!(error instanceof NewerFormatError)) throw error
    request.log.error({ err: error }, 'the server starts with the current copy')
    return null
  })
}

/** @throws LaunchError if the bucket is empty */
async function originIn({ bucket, options }: ReplicationRequest, signal: AbortSignal): Promise<Origin> {
  const origin = await originOf(bucket, signal)
  if (origin === null)
    throw new LaunchError(`--bucket: ${options.bucket} is empty: there is nothing to follow`, 1)
  return origin
}

/**
 * Turns the directory of a leader that has stopped after a handover into a copy, so that its next start follows, also
 * with a newer version. Does nothing if the bucket lacks some of its changes.
 */
export async function leaveAsCopy(directory: string): Promise<void> {
  const { position, outbox } = await endKeepingIn(directory)
  if (position !== null && outbox?.unsent === 0) await setCopyState(directory, 'superseded')
}

/** Stops keeping changes for the bucket in a directory that no process uses, if the bucket has all of them. */
async function endKeepingIn(directory: string): Promise<Pick<ReplicaStore, 'position' | 'outbox'>> {
  const replica = await openReplicaStore(directory)
  try {
    const { outbox, position } = replica
    if (position !== null && outbox?.unsent === 0) await replica.endKeeping()
    return { outbox, position }
  } finally {
    await replica.close()
  }
}

/** Turns a directory that was a writer into a copy. Sets its data aside if the bucket lacks some of its changes. */
export async function makeCopy({ directory, bucket, signal, log }: ReplicationRequest): Promise<void> {
  const { outbox, position } = await endKeepingIn(directory)
  if (position === null && outbox === null)
    throw new LaunchError(
      `--bucket: ${directory} holds data that was never kept in the bucket, or was used without it since; choose an empty --db-path`,
      1,
    )
  if (position !== null && (outbox?.unsent ?? 0) === 0) return setCopyState(directory, 'whole')
  const { fence } = await readOwnState(
    bucket,
    { position: position ?? -1, writer: outbox?.outbox ?? '' },
    signal,
  )
  const unsent = outbox?.unsent ?? 0
  const aside = await setAside(directory, fence?.seq ?? 0, unsent)
  log.warn({ unsent, directory: aside }, 'data with changes that the bucket does not have was set aside')
}

/**
 * Applies the log to a directory up to its end.
 * @param unlimited called if the directory cannot be served before that
 */
async function copied(
  request: ReplicationRequest,
  origin: Origin,
  signal: AbortSignal,
  unlimited: () => void = () => undefined,
): Promise<InstanceCopy> {
  const { bucket, directory, version, log } = request
  const line = await request.openProgress()
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
        if (!(error instanceof LogTruncatedError)) throw error
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
  await recordEngine(directory, copy.fence.engine)
  await setCopyState(directory, 'whole')
  return copy
}
