/** The moment of a log that a copy is made of. */
import type { Entry, Log, ObjectStore } from '../bucket/index.js'
import { type Base, readBase } from './base.js'

/** An entry, or milliseconds since 1970 by the clocks of the writers. */
export type Until = { readonly seq: number } | { readonly date: number }

/** Whether an entry is later than the moment. */
export const isBeyond = (
  until: Until | null,
  seq: number,
  { writtenAt }: Pick<Entry, 'writtenAt'>,
): boolean => until !== null && ('seq' in until ? seq > until.seq : writtenAt > until.date)

/** The newest base that is not later than the moment; null without one. @throws BucketError, DamagedBaseError */
export async function baseUntil(
  until: Until | null,
  log: Log,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<Base | null> {
  for (const seq of (await log.bases(signal)).toReversed()) {
    if (until !== null && 'seq' in until && seq > until.seq) continue
    const base = await readBase(store, seq, signal)
    if (!isBeyond(until, seq, base)) return base
  }
  return null
}
