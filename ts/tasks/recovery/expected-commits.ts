/** Checks that each index has at least its last recorded commit. */
import type { BatchReport, Engine } from '../../engine/index.js'
import { RESTORED_BATCH_UIDS } from '../limits.js'
import type { CatalogueRow, Start } from '../store/records.js'

/** Returns true if the outcome of the batch with this uid in a commit is not recorded. */
type IsUnrecorded = (batchUid: number) => boolean

/**
 * A batch is recorded if its uid is below the next uid and it was not running. A crash can lose the record that a batch
 * runs, but then it loses all later records too.
 */
export function unrecordedIn({ interrupted, nextBatchUid }: Start): IsUnrecorded {
  const running = new Set(interrupted.map(({ uid }) => uid))
  return (batchUid) => batchUid < RESTORED_BATCH_UIDS && (batchUid >= nextBatchUid || running.has(batchUid))
}

/** Sets the minimum commit of each index in the engine. */
export function expectCommits(
  engine: Pick<Engine, 'expect'>,
  rows: readonly Pick<CatalogueRow, 'id' | 'lastBatch'>[],
  isUnrecorded: IsUnrecorded,
): void {
  for (const { id, lastBatch } of rows)
    engine.expect(id, (report) => missing(report, lastBatch, isUnrecorded))
}

/**
 * Returns why the newest commit of an index is wrong. Returns null if it is the last recorded commit, or a later
 * commit whose outcome was not recorded before the process ended.
 */
export function missing(
  report: BatchReport | null,
  lastBatch: number | null,
  isUnrecorded: IsUnrecorded,
): string | null {
  if (report === null) return 'it holds no commit, though tasks of it have succeeded'
  if (lastBatch === null || report.batchUid === lastBatch) return null
  const [found, recorded] = [report.batchUid, lastBatch].map(batchName)
  if (order(report.batchUid) < order(lastBatch)) {
    return `its newest commit is ${found}, though ${recorded} was committed to it: what came after is lost`
  }
  if (isUnrecorded(report.batchUid)) return null
  return `its newest commit is ${found}, which was recorded for another index: the last one of its own is ${recorded}`
}

/** Orders batches by time: batches of an import come before all batches of the queue. */
export const order = (batchUid: number): number =>
  batchUid < RESTORED_BATCH_UIDS ? batchUid : batchUid - 2 * RESTORED_BATCH_UIDS

const batchName = (batchUid: number): string =>
  batchUid < RESTORED_BATCH_UIDS ? `batch ${batchUid}` : 'of the import of a dump'
