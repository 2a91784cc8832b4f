/** Points in a log up to which a copy is made. */
import type { Log, LogRecord, ObjectStore } from '../object-store/index.js'
import { type Checkpoint, readCheckpoint } from './checkpoint.js'
import { LogState } from './log-state.js'

/** A log record, or milliseconds since 1970 by the clocks of the writers. */
export type Until = { readonly seq: number } | { readonly date: number }

/** The bucket no longer has the objects that a copy of an earlier point needs. */
export class MomentGoneError extends Error {
  override readonly name = 'MomentGoneError'
}

/** Returns true if a log record is later than `until`. */
export const isBeyond = (
  until: Until | null,
  seq: number,
  { writtenAt }: Pick<LogRecord, 'writtenAt'>,
): boolean => until !== null && ('seq' in until ? seq > until.seq : writtenAt > until.date)

/** Returns the newest checkpoint that is not later than `until`; null: none. @throws BucketError, DamagedCheckpointError */
export async function checkpointUntil(
  until: Until | null,
  log: Log,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<Checkpoint | null> {
  for await (const checkpoint of checkpointsUntil(until, await log.checkpoints(signal), store, signal))
    return checkpoint
  return null
}

/**
 * Returns the newest checkpoint from which a copy up to `until` can start; null: it starts with the first log record.
 * The image of a checkpoint is a little newer than its record. It must not be newer than `until`.
 * @throws MomentGoneError, BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError
 */
export async function restorableCheckpoint(
  until: Until,
  log: Log,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<Checkpoint | null> {
  const checkpoints = await log.checkpoints(signal)
  for await (const checkpoint of checkpointsUntil(until, checkpoints, store, signal)) {
    const state = new LogState()
    state.load(checkpoint)
    if (
      await reads(
        checkpoint.seq + 1,
        () => state.hasImage,
        (seq, record) => void state.apply(seq, record),
      )
    )
      return checkpoint
  }
  // Records before the first checkpoint become garbage later, and lack the state that existed before the log.
  let last = -1
  let isBeyondMoment = false
  for await (const record of log.records(0, signal)) {
    isBeyondMoment = isBeyond(until, last + 1, record)
    if (isBeyondMoment) break
    last++
  }
  const [oldest] = checkpoints
  const hasMoment = isBeyondMoment || ('seq' in until && until.seq <= last)
  if (oldest !== undefined && !hasMoment && last < oldest)
    throw new MomentGoneError(
      `the bucket does not hold this moment any more; the oldest that can be restored follows log record ${oldest}`,
    )
  return null

  /** Reads records up to `until`, or until `holds()` is true. @returns the last value of `holds()` */
  async function reads(
    from: number,
    holds: () => boolean,
    take: (seq: number, record: LogRecord) => void,
  ): Promise<boolean> {
    if (holds()) return true
    let seq = from
    for await (const record of log.records(seq, signal)) {
      if (isBeyond(until, seq, record)) return false
      take(seq++, record)
      if (holds()) return true
    }
    return false
  }
}

/** Yields the checkpoints that are not later than `until`, newest first. */
async function* checkpointsUntil(
  until: Until | null,
  seqs: readonly number[],
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): AsyncGenerator<Checkpoint, void> {
  for (const seq of seqs.toReversed()) {
    if (until !== null && 'seq' in until && seq > until.seq) continue
    const checkpoint = await readCheckpoint(store, seq, signal)
    if (!isBeyond(until, seq, checkpoint)) yield checkpoint
  }
}
