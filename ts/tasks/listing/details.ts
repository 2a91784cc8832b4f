import { maskSecret, maskUserInfo } from '../../settings/index.js'
import type { TaskContent } from '../task.js'
import { humanSize } from './sizes.js'

type Details = Readonly<Record<string, unknown>>

/** Counters of an executed task. Each type of task displays some of them. */
export interface Counters {
  readonly indexedDocuments?: number
  readonly editedDocuments?: number
  readonly deletedDocuments?: number
  readonly canceledTasks?: number
  readonly deletedTasks?: number
  readonly preCompactionSize?: string
  readonly postCompactionSize?: string
  readonly dumpUid?: string
  readonly updatedRules?: number
  /** Index uid → result of the export. */
  readonly indexes?: Readonly<Record<string, object>>
  /** Uid of an index that was left out → its damage. */
  readonly damagedIndexes?: Readonly<Record<string, string>>
}

/** Returns `details` of a waiting or running task; null for types without details. Settings bring their own. */
export function detailsBefore(
  content: Exclude<TaskContent, { kind: 'settings' }>,
  indexUid: string | null,
): Details | null {
  switch (content.kind) {
    case 'documents':
      return { receivedDocuments: content.receivedDocuments, indexedDocuments: null }
    case 'deleteByIds':
      return { providedIds: content.ids.length, deletedDocuments: null, originalFilter: null }
    case 'deleteByFilter':
      return { providedIds: 0, deletedDocuments: null, originalFilter: JSON.stringify(content.filter) }
    case 'edit':
      return {
        editedDocuments: null,
        deletedDocuments: null,
        originalFilter: content.filter === null ? null : JSON.stringify(content.filter),
        context: content.context,
        function: content.function,
      }
    case 'clear':
    case 'indexDeletion':
      return { deletedDocuments: null }
    case 'indexCreation':
      return { primaryKey: content.primaryKey }
    case 'indexUpdate':
      return {
        primaryKey: content.primaryKey,
        ...(content.newUid === null ? {} : { oldIndexUid: indexUid, newIndexUid: content.newUid }),
      }
    case 'indexSwap':
      return { swaps: content.swaps.map(({ indexes, rename }) => ({ indexes, rename })) }
    case 'indexCompaction':
      return {}
    case 'taskCancelation':
      return { matchedTasks: content.tasks.length, canceledTasks: null, originalFilter: content.query }
    case 'taskDeletion':
      return { matchedTasks: content.tasks.length, deletedTasks: null, originalFilter: content.query }
    case 'upgradeDatabase':
      return { upgradeFrom: `v${content.from}`, upgradeTo: `v${content.to}` }
    case 'dumpCreation':
      return { dumpUid: null }
    case 'snapshotCreation':
      return null
    case 'dsrUpdate':
      return { ...(content.patch !== null && { rule: content.patch }), updatedRules: null }
    case 'dsrClear':
      return { deletedDocuments: null }
    case 'export':
      return {
        url: maskUserInfo(content.url),
        ...(content.apiKey !== null && { apiKey: maskSecret(content.apiKey) }),
        ...(content.payloadBytesMax !== null && { payloadSize: humanSize(content.payloadBytesMax) }),
        indexes: Object.fromEntries(
          content.indexes.map(({ pattern, filter, overrideSettings }) => [
            pattern,
            { filter, overrideSettings },
          ]),
        ),
      }
  }
}

/** Counters displayed as 0 if the task failed, was canceled or had nothing to count. */
const zeroes: Readonly<Record<string, Details>> = {
  documents: { indexedDocuments: 0 },
  deleteByIds: { deletedDocuments: 0 },
  deleteByFilter: { deletedDocuments: 0 },
  // `deletedDocuments` stays null here. Source: recorded answers of the API.
  edit: { editedDocuments: 0 },
  clear: { deletedDocuments: 0 },
  indexDeletion: { deletedDocuments: 0 },
  dsrUpdate: { updatedRules: 0 },
  dsrClear: { deletedDocuments: 0 },
  taskCancelation: { canceledTasks: 0 },
  taskDeletion: { deletedTasks: 0 },
}

/**
 * Returns `details` of a task that has ended.
 * @param before `details` before the task ended
 * @param counters null if the task failed or was canceled
 */
export function detailsAfter(
  kind: TaskContent['kind'],
  before: Details | null,
  counters: Counters | null,
): Details | null {
  return before === null ? null : { ...before, ...zeroes[kind], ...counters }
}
