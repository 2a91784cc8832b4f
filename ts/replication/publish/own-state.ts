import { readCheckpoint } from '../log/checkpoint.js'
import { type Fence, fenceOf } from '../log/fence.js'
import { LogState } from '../log/log-state.js'
import { type Log, type ObjectStore, type Repeating, repeatingStore } from '../object-store/index.js'

/** State of the log, as read by a data directory that wrote to it before. */
export interface OwnState {
  readonly state: LogState
  /** Number of the record after the last one. */
  readonly next: number
  /** The last log record that the newest checkpoint covers; null: no checkpoint exists. */
  readonly base: number | null
  /** The instance that the log belongs to; null: the log is empty. */
  readonly instanceUid: string | null
  /** The last fence; null: the log is empty. */
  readonly fence: Fence | null
  /** True if another directory has appended changes after this one. */
  readonly isBehind: boolean
}

/**
 * Reads the state of the log for a directory that knows its changes to be in the log up to record `position`, or
 * further.
 *
 * A directory stores its position when it writes a fence, before it appends anything under it. So changes under a later
 * fence come from another directory, even if the identity is the same: one directory is a copy of the other (a cloned
 * machine).
 * @param position -1: the directory has sent nothing
 * @param writer identity of the directory
 * @throws BucketError, DamagedCheckpointError, DamagedRecordError, DamagedBodyError
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
  const seq = await log.newestCheckpoint(signal)
  let isBehind = false
  let fence: Fence | null = null
  let instanceUid: string | null = null
  if (seq !== null) {
    const checkpoint = await readCheckpoint(repeatingStore(store, repeating), seq, signal)
    state.load(checkpoint)
    fence = checkpoint.fence
    instanceUid = checkpoint.instanceUid
    isBehind =
      checkpoint.seq > position && (checkpoint.fence.writer !== writer || checkpoint.fence.seq > position)
  }
  let next = (seq ?? -1) + 1
  for await (const record of log.records(next, signal)) {
    instanceUid = record.instanceUid
    state.apply(next, record)
    if (record.kind === 'fence') fence = fenceOf(next, record)
    else if (next > position && (record.writer !== writer || record.epoch > position)) isBehind = true
    next++
  }
  return { state, next, base: seq, fence, instanceUid, isBehind }
}
