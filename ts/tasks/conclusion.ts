import type { Effects, Outcome } from './execute/batch-context.js'
import { detailsAfter } from './listing/details.js'
import { type BatchNotes, batchStats, mergedDetails, parsedDetails } from './listing/view.js'
import type { Conclusion, Ending } from './store/records.js'
import type { Micros } from './time.js'

/** Builds the record of a finished batch, for `StoreCalls.conclude`. */
export function concluded(
  batch: { readonly uid: number; readonly startedAt: Micros; readonly strategy: string },
  done: Effects,
  failedCommits: readonly string[] = [],
  notes: BatchNotes = {},
  uploads: readonly string[] = [],
): Conclusion {
  const members = done.outcomes.map(({ status, task: { row, content }, counters }) => {
    const details = detailsAfter(content.kind, parsedDetails(row.details), counters)
    return { status, type: row.type, indexUid: row.indexUid, details }
  })
  // The details of settings can be megabytes. They stay in the store, which merges them itself.
  const isKnown = done.outcomes.every(({ task: { content } }) => content.kind !== 'settings')
  return {
    batch: {
      ...batch,
      finishedAt: done.finishedAt,
      details: isKnown ? JSON.stringify(mergedDetails(members)) : null,
      stats: JSON.stringify(batchStats(members, notes)),
    },
    endings: done.outcomes.map((outcome, position) => ending(outcome, members[position]!.details)),
    written: done.written,
    removed: done.removed,
    dropped: done.dropped,
    relabels: done.relabels,
    failedCommits,
    deletedTasks: done.deletedTasks,
    uploads,
  }
}

function ending(outcome: Outcome, details: object | null): Ending {
  return {
    uid: outcome.task.row.uid,
    status: outcome.status,
    details: details === null ? null : JSON.stringify(details),
    error: outcome.error === null ? null : JSON.stringify(outcome.error),
    canceledBy: outcome.canceledBy,
    newIndexUid: outcome.newIndexUid,
  }
}
