import type { Entry, Log, LogWriter, ObjectStore, Repeating } from '../bucket/index.js'
import type { OutgoingChanges } from '../tasks/index.js'
import { type About, encodeAbout, type Fence } from './fence.js'
import { PassedOverError } from './instance-copy.js'
import type { LogState } from './log-state.js'
import { type OwnState, readOwnState } from './own-state.js'

/** Another directory has sent changes, or begun to, since this one did. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'

  /** @param fence of the directory that writes now @param isBehind whether it has sent changes */
  constructor(
    readonly fence: Fence,
    readonly isBehind: boolean,
  ) {
    super(`another server writes to the bucket since entry ${fence.seq}`)
  }
}

/** The log in the bucket is not that of this directory. */
export class ForeignLogError extends Error {
  override readonly name = 'ForeignLogError'
}

export interface Place {
  readonly log: Log
  readonly store: ObjectStore
  readonly repeating: Repeating
}

/** A data directory that wants to send what it changes. */
export interface Claimant extends About {
  readonly instanceUid: string
  /** Where followers reach the server over HTTP; null: nowhere. */
  readonly address: string | null
  readonly outgoing: Pick<OutgoingChanges, 'facts' | 'position' | 'sent'>
  /** Whether to go on although another server has begun to write, as long as that one has sent no changes. */
  readonly takesOver: boolean
}

/** The log, taken over. */
export interface Connected {
  readonly writer: LogWriter
  readonly fence: Fence
  readonly state: LogState
  /** The entry that the newest base covers to; null: there is no base. */
  readonly base: number | null
}

/**
 * Takes over the log for a directory whose changes are in it already, or for a new log.
 * @throws SupersededError, ForeignLogError; then nothing was written
 * @throws PassedOverError if other servers take over at the same time: try again
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError
 */
export async function connect(place: Place, claimant: Claimant, signal: AbortSignal): Promise<Connected> {
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
  // A directory that has fenced and sent nothing is told by this from one that was never kept in the bucket.
  if (noted === null) await outgoing.sent(0, -1)
  const passedOver = (seq: number) => {
    throw new PassedOverError(`the entry ${seq} was written while this server took over`)
  }
  return takeOver(place, { ...claimant, writer, next: own.next, known: own }, passedOver, signal)
}

/** A directory that has what the log tells. */
export interface Successor extends Pick<Claimant, 'instanceUid' | 'address' | 'engine' | 'version'> {
  /** Its identity. */
  readonly writer: string
  /** The first entry that it does not know. */
  readonly next: number
  /** What was read of the log before that, and the base that reading began with; null: it is read again. */
  readonly known: Pick<OwnState, 'state' | 'base'> | null
}

/** Takes over a log. @param apply called with each entry from `next` on, which the successor does not know */
export async function takeOver(
  place: Place,
  { instanceUid, address, engine, version, next, known, writer: identity }: Successor,
  apply: (seq: number, entry: Entry) => void,
  signal: AbortSignal,
): Promise<Connected> {
  const about = encodeAbout({ engine, version })
  const writer = await place.log.takeOver(
    {
      ...{ instanceUid, address, writer: identity, about, next },
      apply: async (seq, entry) => apply(seq, entry),
      restore: async (seq) => {
        throw new PassedOverError(`the entries up to ${seq} may be gone`)
      },
    },
    signal,
  )
  // A base that was made since the log was read has files elsewhere, and the entries that had them may be gone. What the newest
  // base of now names, and what the entries behind it name, stays from here on, as `Garbage` tells.
  const base = await place.log.newestBase(signal)
  const isCurrent = known !== null && known.base === base
  const own = { position: writer.epoch, writer: identity }
  const current = isCurrent ? known : await readOwnState(place, own, signal)
  const fence = { seq: writer.epoch, writer: identity, address, engine, version }
  return { writer, fence, state: current.state, base: current.base }
}
