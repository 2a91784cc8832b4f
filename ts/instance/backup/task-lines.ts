/** Writes tasks and batches as lines of an archive. Source: operations §9.2. */
import type { DumpedBatch, DumpedTask, TaskType } from '../../tasks/index.js'
import { isOwnRuleChange, readableRuleChange } from './rule-tasks.js'
import { batchForm, errorForm, upgradeDetails } from './task-forms.js'
import { kindLine } from './task-kinds.js'

/** The single key of the details, for each type whose fields are only renamed. */
const detailsNames: Readonly<
  Record<Exclude<TaskType, 'documentDeletion' | 'settingsUpdate' | 'upgradeDatabase'>, string>
> = {
  documentAdditionOrUpdate: 'DocumentAdditionOrUpdate',
  documentEdition: 'DocumentEdition',
  indexCreation: 'IndexInfo',
  indexDeletion: 'ClearAll',
  indexUpdate: 'IndexInfo',
  indexSwap: 'IndexSwap',
  taskCancelation: 'TaskCancelation',
  taskDeletion: 'TaskDeletion',
  dumpCreation: 'Dump',
  snapshotCreation: 'Snapshot',
  export: 'Export',
  indexCompaction: 'IndexCompaction',
  networkTopologyChange: 'NetworkTopologyChange',
  dsrUpdate: 'DsrUpdate',
  dsrClear: 'ClearAll',
}

/** Returns the line of a task in `tasks/queue.jsonl`. */
export function taskLine(dumped: DumpedTask): object {
  const { task, newIndexUid } = dumped
  const { canceledBy, error, startedAt, finishedAt, customMetadata } = task
  const line = {
    uid: task.uid,
    batchUid: task.batchUid,
    indexUid: task.indexUid,
    status: task.status,
    type: kindLine(dumped),
    ...(canceledBy !== null && { canceledBy }),
    ...(task.details !== undefined && { details: detailsLine(task.type, task.details) }),
    ...(error !== null && { error: errorForm.write(error) }),
    enqueuedAt: task.enqueuedAt,
    ...(startedAt !== null && { startedAt }),
    ...(finishedAt !== null && { finishedAt }),
    ...(customMetadata !== undefined && { customMetadata }),
    // A field of this service. Other services ignore it.
    ...(newIndexUid !== null && { newIndexUid }),
  }
  return isOwnRuleChange(dumped) ? readableRuleChange(line) : line
}

/** Returns the line of a batch in `batches/queue.jsonl`. Only finished batches are dumped. */
export function batchLine({ batch, oldestEnqueuedAt, newestEnqueuedAt }: DumpedBatch): unknown {
  const { uid, details, startedAt, finishedAt, batchStrategy } = batch
  const { embedderRequests, ...stats } = batch.stats
  return batchForm.write({
    uid,
    details,
    stats,
    embedderStats: embedderRequests,
    startedAt,
    finishedAt: finishedAt ?? startedAt,
    enqueuedAt: { earliest: newestEnqueuedAt, oldest: oldestEnqueuedAt },
    stopReason: batchStrategy,
  })
}

function detailsLine(type: TaskType, details: Readonly<Record<string, unknown>>): object {
  if (type === 'settingsUpdate') return { SettingsUpdate: { settings: details } }
  if (type === 'upgradeDatabase') return { UpgradeDatabase: upgradeDetails.write(details) }
  // Details from another service are kept unchanged, see `detailsOf` in `read-tasks.ts`.
  if (type === 'dsrUpdate' && details.updatedRules === undefined) return { DsrUpdate: details }
  if (type !== 'documentDeletion') return { [detailsNames[type]]: snakeKeys(details) }
  const { originalFilter, providedIds, ...rest } = details
  if (typeof originalFilter === 'string')
    return { DocumentDeletionByFilter: snakeKeys({ originalFilter, ...rest }) }
  return providedIds === undefined
    ? { ClearAll: snakeKeys(rest) }
    : { DocumentDeletion: snakeKeys({ providedIds, ...rest }) }
}

const snakeKeys = (object: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [snakeCase(key), value]))

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
