import { type Log, type ObjectStore, type Repeating, repeatingStore } from '../bucket/index.js'
import { readBase } from './base.js'
import { type Fence, fenceOf } from './fence.js'
import { LogState } from './log-state.js'

/** A log as the directory finds it that wrote to it before. */
export interface OwnState {
  readonly state: LogState
  /** The entry behind the last one. */
  readonly next: number
  /** The entry that the newest base covers to; null: there is no base. */
  readonly base: number | null
  /** The instance that the log belongs to; null: the log is empty. */
  readonly instanceUid: string | null
  /** The last fence; null: the log is empty. */
  readonly fence: Fence | null
  /** Whether another directory has sent changes since this one did. */
  readonly isBehind: boolean
}

/**
 * Reads what the log tells, for a directory whose changes are in it up to the entry `position`, if not further.
 *
 * A directory notes its fence before it sends anything under it, so a later fence under which something was sent is that of
 * another directory, even if its identity is the same: then one is a copy of the other, as a cloned machine has it.
 * @param position -1: none
 * @param writer identity of the directory
 * @throws BucketError, DamagedBaseError, DamagedEntryError, DamagedBodyError
 */
export async function readOwnState(
  {
    log,
    store,
    repeating,
  }: { readonly log: Log; readonly store: ObjectStore; readonly repeating: Repeating },
  { position, writer }: { readonly position: number; readonly writer: string },
  signal: AbortSignal,
): Promise<OwnState> {
  const state = new LogState()
  const seq = await log.newestBase(signal)
  let isBehind = false
  let fence: Fence | null = null
  let instanceUid: string | null = null
  if (seq !== null) {
    const base = await readBase(repeatingStore(store, repeating), seq, signal)
    state.load(base)
    fence = base.fence
    instanceUid = base.instanceUid
    isBehind = base.seq > position && (base.fence.writer !== writer || base.fence.seq > position)
  }
  let next = (seq ?? -1) + 1
  for await (const entry of log.entries(next, signal)) {
    instanceUid = entry.instanceUid
    state.apply(next, entry)
    if (entry.kind === 'fence') fence = fenceOf(next, entry)
    else if (next > position && (entry.writer !== writer || entry.epoch > position)) isBehind = true
    next++
  }
  return { state, next, base: seq, fence, instanceUid, isBehind }
}
