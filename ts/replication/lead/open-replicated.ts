/** Opens a data directory with a bucket: as writer, as follower, or restored to an earlier point. */
import { join } from 'node:path'
import { copyState, type FollowerInstance, type Instance, setCopyState } from '../../instance/index.js'
import { LaunchError } from '../../launch/index.js'
import { openReplicaStore } from '../../tasks/index.js'
import { recentCandidates, successorsAmong } from '../elect/announcements.js'
import { beat } from '../elect/heartbeat.js'
import { roleOf } from '../elect/role-of.js'
import {
  type DirectoryRequest,
  endSettingAside,
  isEmpty,
  restoreMoment,
  takeOverCopy,
} from '../follow/copy-directory.js'
import { LogTruncatedError } from '../follow/instance-copy.js'
import { makeCopy, openFollower } from '../follow/open-follower.js'
import { GARBAGE_AGE_MS, START_RECORDS_BYTES } from '../limits.js'
import { NewerFormatError } from '../log/format.js'
import { repeatingStore } from '../object-store/index.js'
import { asLaunchError, originOf } from '../open-bucket.js'
import { PositionWatch } from '../position-watch.js'
import { Garbage } from '../publish/garbage.js'
import { Sender } from '../publish/sender.js'
import type { Handee, Sending } from '../publish/sender-setup.js'
import { Shipper } from '../publish/shipper.js'
import { fetchUploads } from '../publish/uploads.js'
import type { ReplicatedInstance, ReplicationRequest } from '../replicated-instance.js'
import { requiredToStart, withinStart } from '../within-start.js'
import { type Connected, connect, ForeignLogError, SupersededError } from './connect.js'

/** @throws LaunchError; the reason of the signal */
export async function openReplicated(request: ReplicationRequest): Promise<ReplicatedInstance> {
  const { signal, bucket } = request
  bucket.log.cacheRecords(START_RECORDS_BYTES)
  try {
    await endSettingAside(request.directory)
    const isSuperseded =
      (await copyState(request.directory)) === 'superseded' && !request.options.bucketTakeOver
    const { startsAs } = request
    const follows = startsAs !== 'leader' || isSuperseded
    const isFormer = startsAs === 'former leader'
    if (follows && (isFormer || !(await mayLead(request)))) return await openFollower(request)
    const taken = await prepare(request)
    if (taken === 'moment')
      return { instance: await request.open(false), sender: null, follower: null, watch: null }
    return await openWriter(request, taken)
  } catch (error) {
    signal.throwIfAborted()
    throw asLaunchError(error)
  } finally {
    bucket.log.cacheRecords(0)
  }
}

/**
 * Returns true if a candidate has led the log from this directory, so that it continues unless another server has taken
 * over, or if the log has no record yet and the candidate may begin it.
 */
async function mayLead(request: ReplicationRequest): Promise<boolean> {
  const { options, directory, bucket } = request
  if (options.candidate === 'no') return false
  if (await isEmpty(directory))
    return (
      options.candidate === 'first' &&
      (await requiredToStart(request, (limit) => originOf(bucket, limit))) === null
    )
  if ((await copyState(directory)) !== null) return false
  const replica = await openReplicaStore(directory)
  try {
    return replica.position !== null
  } finally {
    await replica.close()
  }
}

/**
 * Opens the directory of a follower that has taken over the log as leader. The engine of the follower serves searches
 * until its owner closes it; calls to its task store continue in the new one.
 * @throws LaunchError; the reason of the signal
 */
export async function openElected(
  request: ReplicationRequest,
  taken: Connected,
  former: FollowerInstance,
): Promise<ReplicatedInstance> {
  const { bucket, directory, signal } = request
  const store = repeatingStore(bucket.store, bucket.repeating)
  const [missing] = await fetchUploads(await former.queue.uploads(), directory, store, signal)
  if (missing !== undefined)
    throw new LaunchError(
      `--bucket: the object ${missing} is missing: a part of an upload of an enqueued task`,
      1,
    )
  await former.queue.release()
  await setCopyState(directory, null)
  const opened = await openWriter(request, taken)
  if ('call' in opened.instance.queue) former.queue.continueIn(opened.instance.queue.call)
  return opened
}

/**
 * Fills the data directory from the bucket if it is empty or a copy.
 * @returns the log after a takeover; null: the directory was a writer itself; `moment`: it is restored to an earlier
 * point
 */
async function prepare(request: ReplicationRequest): Promise<Connected | 'moment' | null> {
  const { bucket, directory, options, version, signal, log } = request
  const isNew = await isEmpty(directory)
  if (!isNew && options.bucketUntil !== null) return 'moment'
  if (!isNew && (await copyState(directory)) === null) return null
  const origin = await requiredToStart(request, (limit) => originOf(bucket, limit))
  if (origin === null) {
    if (isNew && options.bucketUntil === null) return null
    const problem = isNew ? 'is empty' : `is empty, and ${directory} is a copy of its former content`
    throw new LaunchError(`--bucket: ${options.bucket} ${problem}`, 1)
  }
  const line = await request.openProgress()
  const copying: DirectoryRequest = {
    ...{ bucket, origin, directory, version, signal, log },
    progress: (...given) => line.show(...given),
  }
  try {
    if (options.bucketUntil === null) {
      return await takeOverCopy(copying, options)
    }
    const { position, missing } = await restoreMoment(copying, options.bucketUntil)
    log.warn(
      { position, missing },
      'the instance was restored to an earlier point: nothing is sent to the bucket',
    )
    return 'moment'
  } finally {
    line.end()
  }
}

async function openWriter(request: ReplicationRequest, taken: Connected | null): Promise<ReplicatedInstance> {
  const { options, signal, log, bucket } = request
  const instance = await request.open(true)
  const watch = new PositionWatch()
  const opening = { ...request, watch }
  try {
    const sending =
      taken === null
        ? await withinStart(request, (stop) => connectNow(opening, instance, stop))
        : sendingOf(opening, instance, taken)
    const sender = new Sender({
      outgoing: instance.queue.outgoing,
      connect: (stop) => connectNow(opening, instance, stop),
      sending,
      ...{ ack: options.bucketAck, isSole: options.bucketSoleWriter, reachability: bucket.reachability },
      intervalMs: options.bucketInterval,
      log,
      ...(options.candidate !== 'no' && {
        handover: {
          stopBatches: () => instance.queue.stop(),
          successor: (stop: AbortSignal, to: string | null) => successorOf(request, stop, to),
        },
      }),
      onFenced: (hasLed) => {
        watch.close()
        // A former leader does not take over again: two servers with the option would alternate forever.
        const takesOver = options.bucketTakeOver && !hasLed
        if (takesOver) log.warn({}, 'another server has taken over: this one restarts to take over again')
        else log.error({}, 'another server has taken over: this one becomes a follower')
        void instance.queue.stop()
        request.onEnd(takesOver ? 'leader' : 'former leader')
      },
    })
    let askedAt = Number.NEGATIVE_INFINITY
    instance.queue.tasks.onChange(({ hasEnded }) => {
      // Other servers show the documents of a batch once the log has its outcome.
      if (!hasEnded || performance.now() - askedAt < options.bucketInterval) return
      askedAt = performance.now()
      sender.ask()
    })
    bucket.onFailure((error) => sender.failed(error))
    return { instance, sender, follower: null, watch, restart: () => request.onEnd('leader') }
  } catch (error) {
    await instance.close()
    if (error instanceof NewerFormatError) {
      signal.throwIfAborted()
      log.error({ err: error }, 'another server has taken over: this one is a follower')
      return openFollower(request)
    }
    if (!(error instanceof SupersededError)) throw error
    signal.throwIfAborted()
    if (!options.bucketTakeOver) {
      log.warn(
        { record: error.fence.seq },
        'another server has taken over: this one is a follower, unless it is started with --bucket-take-over',
      )
      return openFollower(request)
    }
    log.warn({ record: error.fence.seq }, 'another server had taken over: this one takes over from it')
    await makeCopy(request)
    return openWriter(request, (await prepare(request)) as Connected)
  }
}

/** Chooses a candidate among those that answer; see `successorsAmong`. @param to only at this address; null: any */
async function successorOf(
  { bucket, peers }: ReplicationRequest,
  signal: AbortSignal,
  to: string | null,
): Promise<Handee | null> {
  const found = await recentCandidates(bucket, Date.now(), signal)
  for (const { id, address } of successorsAmong(found)) {
    if (address === null || (to !== null && !isSameAddress(address, to))) continue
    const role = await roleOf(peers, address)
    if (role === 'follower') return { id, address, nudge: () => void roleOf(peers, address) }
  }
  return null
}

const isSameAddress = (one: string, other: string): boolean => new URL(one).href === new URL(other).href

/** A request whose server notes each log record. */
type Watched = ReplicationRequest & { readonly watch: PositionWatch }

async function connectNow(request: Watched, instance: Instance, signal: AbortSignal): Promise<Sending> {
  const { bucket, options, version, log } = request
  for (;;) {
    try {
      const claimant = {
        requireFit: (limit: AbortSignal) => bucket.requireFit(limit),
        ...{ instanceUid: instance.data.instanceUid, address: options.advertisedUrl, version },
        ...{
          engine: instance.opened.kind,
          outgoing: instance.queue.outgoing,
          takesOver: options.bucketTakeOver,
          heartbeats: options.candidate !== 'no',
        },
      }
      return sendingOf(request, instance, await connect(bucket, claimant, signal))
    } catch (error) {
      if (error instanceof LogTruncatedError) {
        log.warn({ err: error }, 'the log changed while this server connected: trying again')
        continue
      }
      if (!(error instanceof ForeignLogError)) throw error
      const remedy =
        'choose an empty --db-path to start from the bucket, or another prefix to begin a new copy'
      throw new LaunchError(`--bucket: ${error.message}; ${remedy}`, 1)
    }
  }
}

function sendingOf(
  { bucket, directory, options, watch }: Watched,
  { opened, queue, data }: Instance,
  connected: Connected,
): Sending {
  const { store, log, repeating } = bucket
  const { writer, fence, state, base } = connected
  watch.reached(writer.next - 1)
  const shipper = new Shipper({
    onAppended: (seq) => watch.reached(seq),
    ...{ outgoing: queue.outgoing, engine: opened.engine, store, repeating, log, writer, fence, base, state },
    instanceUid: data.instanceUid,
    indexes: () => queue.tasks.indexes(),
    scratch: join(directory, 'outgoing'),
  })
  const garbage = new Garbage({
    ...{ store, repeating, log, epoch: writer.epoch, ageMs: GARBAGE_AGE_MS },
    now: () => performance.now(),
  })
  const isBeating = options.candidate !== 'no'
  return {
    ...{ shipper, writer, garbage },
    beat: isBeating ? (count, signal) => beat(bucket, writer.epoch, count, signal) : null,
  }
}
