/** Which commits were recorded, and which must an index hold at least? */
import type { BatchReport, Engine } from '../../engine/index.js'
import { RESTORED_BATCH_UIDS } from '../limits.js'
import type { CatalogueRow, Start } from '../store/records.js'

/** Whether the outcome of a batch is not recorded, by the uid in its commit. */
export type IsUnrecorded = (batchUid: number) => boolean

/**
 * A batch that is recorded has a uid below the next one, and was not running. The record that a batch runs may be lost
 * in a crash, but then so are all that were written after it.
 */
export function unrecordedIn({ interrupted, nextBatchUid }: Start): IsUnrecorded {
  const running = new Set(interrupted.map(({ uid }) => uid))
  return (batchUid) => batchUid < RESTORED_BATCH_UIDS && (batchUid >= nextBatchUid || running.has(batchUid))
}

/** Tells the engine which commit each index must hold at least. */
export function expectCommits(
  engine: Pick<Engine, 'expect'>,
  rows: readonly Pick<CatalogueRow, 'id' | 'lastBatch'>[],
  isUnrecorded: IsUnrecorded,
): void {
  for (const { id, lastBatch } of rows)
    engine.expect(id, (report) => missing(report, lastBatch, isUnrecorded))
}

/**
 * Why the newest commit of an index is not the one that was recorded for it last; null if it is, or if it is a later
 * one whose outcome was not recorded before the process ended.
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

/** Sorts batches by time: those of an import come before all batches of the queue. */
export const order = (batchUid: number): number =>
  batchUid < RESTORED_BATCH_UIDS ? batchUid : batchUid - 2 * RESTORED_BATCH_UIDS

const batchName = (batchUid: number): string =>
  batchUid < RESTORED_BATCH_UIDS ? `batch ${batchUid}` : 'of the import of a dump'
