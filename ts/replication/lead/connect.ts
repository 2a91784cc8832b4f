import type { OutgoingChanges } from '../../tasks/index.js'
import { LogTruncatedError } from '../follow/instance-copy.js'
import { type About, encodeAbout, type Fence } from '../log/fence.js'
import type { LogState } from '../log/log-state.js'
import type { Log, LogRecord, LogWriter, ObjectStore, Repeating } from '../object-store/index.js'
import { type OwnState, readOwnState } from '../publish/own-state.js'

/** Another data directory has taken over the log. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'

  /** @param fence of the new writer @param isBehind true if the new writer has appended changes already */
  constructor(
    readonly fence: Fence,
    readonly isBehind: boolean,
  ) {
    super(`another server writes to the bucket since log record ${fence.seq}`)
  }
}

/** The log in the bucket does not belong to this data directory. */
export class ForeignLogError extends Error {
  override readonly name = 'ForeignLogError'
}

export interface Place {
  readonly log: Log
  readonly store: ObjectStore
  readonly repeating: Repeating
}

/** A data directory that wants to become the writer of the log. */
export interface Claimant extends About {
  readonly instanceUid: string
  /** HTTP address for followers; null: the server has none. */
  readonly address: string | null
  readonly outgoing: Pick<OutgoingChanges, 'facts' | 'position' | 'sent'>
  /** True to replace a newer writer that has not appended changes yet. */
  readonly takesOver: boolean
  /** Called before the first write to the bucket. Absent: the store is known to be suitable. */
  readonly requireFit?: (signal: AbortSignal) => Promise<void>
}

/** The log after a takeover. */
export interface Connected {
  readonly writer: LogWriter
  readonly fence: Fence
  readonly state: LogState
  /** The last log record that the newest checkpoint covers; null: no checkpoint exists. */
  readonly base: number | null
}

/**
 * Takes over the log. The log is new or already has changes of this directory.
 * @throws SupersededError, ForeignLogError; nothing was written then
 * @throws LogTruncatedError if another server takes over at the same time; try again
 * @throws BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError
 */
export async function connect(place: Place, claimant: Claimant, signal: AbortSignal): Promise<Connected> {
  const probing = new AbortController()
  // Runs while the log is read. The result is awaited below, or by a takeover that follows.
  if (claimant.takesOver)
    claimant.requireFit?.(AbortSignal.any([signal, probing.signal])).catch(() => undefined)
  try {
    return await connectFit(place, claimant, signal)
  } catch (error) {
    if (!(error instanceof SupersededError || error instanceof LogTruncatedError)) probing.abort()
    throw error
  }
}

async function connectFit(place: Place, claimant: Claimant, signal: AbortSignal): Promise<Connected> {
  const { outgoing, takesOver, instanceUid } = claimant
  const noted = await outgoing.position()
  const position = noted ?? -1
  const { outbox: writer, newest } = await outgoing.facts()
  const own = await readOwnState(place, { position, writer }, signal)
  if (own.fence !== null && own.instanceUid !== instanceUid)
    throw new ForeignLogError(
      `the bucket holds the instance ${own.instanceUid}, the data directory is of ${instanceUid}`,
    )
  const isOwn = own.fence === null || own.fence.writer === writer
  if (!isOwn && noted === null)
    throw new ForeignLogError('the data directory was used without the bucket since, or was never kept in it')
  const { reached } = own.state
  if (reached?.outbox === writer && reached.last > newest)
    throw new ForeignLogError(
      'the data directory is older than what it has sent to the bucket, such as a restored backup',
    )
  if (own.fence !== null && (own.isBehind || (!isOwn && !takesOver)))
    throw new SupersededError(own.fence, own.isBehind)
  // Awaited last: a server that is superseded must not wait for it.
  await claimant.requireFit?.(signal)
  // Marks the directory as kept in the bucket before it has sent anything.
  if (noted === null) await outgoing.sent(0, -1)
  const passedOver = (seq: number) => {
    throw new LogTruncatedError(`the log record ${seq} was written while this server took over`)
  }
  return takeOver(place, { ...claimant, writer, next: own.next, known: own }, passedOver, signal)
}

/** A data directory that has the state of the log up to `next`. */
interface Successor extends Pick<Claimant, 'instanceUid' | 'address' | 'engine' | 'version' | 'heartbeats'> {
  /** Identity of the directory. */
  readonly writer: string
  /** The first log record that it does not have. */
  readonly next: number
  /** State of the log before `next`, and the checkpoint it was read from; null: the log is read again. */
  readonly known: Pick<OwnState, 'state' | 'base'> | null
}

/** Takes over a log. @param apply called with each log record from `next` on */
export async function takeOver(
  place: Place,
  successor: Successor,
  apply: (seq: number, record: LogRecord) => void,
  signal: AbortSignal,
): Promise<Connected> {
  const writer = await place.log.takeOver(
    {
      ...claimOf(successor),
      apply: async (seq, record) => apply(seq, record),
      restore: async (seq) => {
        throw new LogTruncatedError(`the log records up to ${seq} may be gone`)
      },
    },
    signal,
  )
  return connectedAs(place, successor, writer, signal)
}

/**
 * Takes over a log if it still ends where the successor has read it.
 * @returns null: another server has appended meanwhile
 */
export async function stand(
  place: Place,
  successor: Successor,
  signal: AbortSignal,
): Promise<Connected | null> {
  const writer = await place.log.stand(claimOf(successor), signal)
  return writer && connectedAs(place, successor, writer, signal)
}

const aboutOf = ({ engine, version, heartbeats }: About): About => ({
  ...{ engine, version },
  ...(heartbeats === true && { heartbeats }),
})

const claimOf = (successor: Successor) => {
  const { instanceUid, address, writer, next } = successor
  return { instanceUid, address, writer, next, about: encodeAbout(aboutOf(successor)) }
}

async function connectedAs(
  place: Place,
  successor: Successor,
  writer: LogWriter,
  signal: AbortSignal,
): Promise<Connected> {
  const { known, writer: identity, address } = successor
  // If a newer checkpoint was published meanwhile, it has moved files, and their old records may be gone. So the state
  // is read again. `Garbage` keeps all objects that the checkpoint found here, and the records after it, reference.
  const isCurrent = known !== null && known.base === writer.checkpointAtFence
  const own = { position: writer.epoch, writer: identity }
  const current = isCurrent ? known : await readOwnState(place, own, signal)
  const fence = { seq: writer.epoch, writer: identity, address, ...aboutOf(successor) }
  return { writer, fence, state: current.state, base: current.base }
}
