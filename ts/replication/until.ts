/** The moment of a log that a copy is made of. */
import type { Entry, Log, ObjectStore } from '../bucket/index.js'
import { type Base, readBase } from './base.js'
import { LogState } from './log-state.js'

/** A log record, or milliseconds since 1970 by the clocks of the writers. */
export type Until = { readonly seq: number } | { readonly date: number }

/** The bucket does not hold what a copy of a former moment needs. */
export class MomentGoneError extends Error {
  override readonly name = 'MomentGoneError'
}

/** Whether a log record is later than the moment. */
export const isBeyond = (
  until: Until | null,
  seq: number,
  { writtenAt }: Pick<Entry, 'writtenAt'>,
): boolean => until !== null && ('seq' in until ? seq > until.seq : writtenAt > until.date)

/** The newest checkpoint that is not later than the moment; null without one. @throws BucketError, DamagedBaseError */
export async function baseUntil(
  until: Until | null,
  log: Log,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<Base | null> {
  for await (const base of basesUntil(until, await log.bases(signal), store, signal)) return base
  return null
}

/**
 * The newest checkpoint that a copy of the moment can begin with; null: it begins with the first log record. The image of a
 * checkpoint is a little newer than its record, and must not be newer than the moment.
 * @throws MomentGoneError, BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError
 */
export async function restorableBase(
  until: Until,
  log: Log,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<Base | null> {
  const bases = await log.bases(signal)
  for await (const base of basesUntil(until, bases, store, signal)) {
    const state = new LogState()
    state.load(base)
    if (
      await reads(
        base.seq + 1,
        () => state.hasImage,
        (seq, entry) => void state.apply(seq, entry),
      )
    )
      return base
  }
  // Records before the first checkpoint are garbage once there are more, and tell nothing of what was there before them.
  let last = -1
  let isBeyondMoment = false
  for await (const entry of log.entries(0, signal)) {
    isBeyondMoment = isBeyond(until, last + 1, entry)
    if (isBeyondMoment) break
    last++
  }
  const [oldest] = bases
  const hasMoment = isBeyondMoment || ('seq' in until && until.seq <= last)
  if (oldest !== undefined && !hasMoment && last < oldest)
    throw new MomentGoneError(
      `the bucket does not hold this moment any more; the oldest that can be restored follows log record ${oldest}`,
    )
  return null

  /** Reads records up to the moment until something holds. @returns whether it holds */
  async function reads(
    from: number,
    holds: () => boolean,
    take: (seq: number, entry: Entry) => void,
  ): Promise<boolean> {
    if (holds()) return true
    let seq = from
    for await (const entry of log.entries(seq, signal)) {
      if (isBeyond(until, seq, entry)) return false
      take(seq++, entry)
      if (holds()) return true
    }
    return false
  }
}

/** Checkpoints that are not later than the moment, the newest first. */
async function* basesUntil(
  until: Until | null,
  seqs: readonly number[],
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): AsyncGenerator<Base, void> {
  for (const seq of seqs.toReversed()) {
    if (until !== null && 'seq' in until && seq > until.seq) continue
    const base = await readBase(store, seq, signal)
    if (!isBeyond(until, seq, base)) yield base
  }
}
