/**
 * Here is what a task does: how does an archive say it?
 *
 * A bare word, or an object with one key; its fields are in snake case. Finished tasks have nothing left to
 * do, so theirs is put together from what their details tell. Source: spec/operations.md §9.2.
 */
import type { DumpedTask, TaskContent } from '../tasks/index.js'
import { encodeRoaring } from './roaring.js'

type Fields = Readonly<Record<string, unknown>>
type Details = Readonly<Record<string, unknown>>

/** The value of `type` in the line of a task. */
export function kindLine({ task, content }: DumpedTask): unknown {
  return kindOf(content ?? pastContent(task), task.indexUid)
}

function kindOf(content: TaskContent, indexUid: string | null): unknown {
  switch (content.kind) {
    case 'documents':
      return {
        documentImport: {
          primary_key: content.primaryKey,
          method: content.method === 'replace' ? 'ReplaceDocuments' : 'UpdateDocuments',
          documents_count: content.receivedDocuments,
          allow_index_creation: content.mayCreateIndex,
          ...(content.skipCreation && { skip_creation: true }),
        },
      }
    case 'deleteByIds':
      return { documentDeletion: { documents_ids: content.ids } }
    case 'deleteByFilter':
      return { documentDeletionByFilter: { filter: content.filter } }
    case 'edit': {
      const { filter, context, function: source } = content
      return { documentEdition: { filter, context, function: source } }
    }
    case 'clear':
      return 'documentClear'
    case 'settings': {
      const { patch, isReset, mayCreateIndex } = content
      return { settings: { settings: patch, is_deletion: isReset, allow_index_creation: mayCreateIndex } }
    }
    case 'indexCreation':
      return { indexCreation: { primary_key: content.primaryKey } }
    case 'indexUpdate':
      return { indexUpdate: { primary_key: content.primaryKey, uid: content.newUid } }
    case 'indexSwap':
      return { indexSwap: { swaps: content.swaps } }
    case 'indexCompaction':
      return { indexCompaction: { index_uid: indexUid } }
    case 'taskCancelation':
      return { taskCancelation: matched(content) }
    case 'taskDeletion':
      return { tasksDeletion: matched(content) }
    case 'dumpCreation':
      return { dumpCreation: { keys: [], instance_uid: null } }
    case 'dsrUpdate':
      return { dsrUpdate: { uid: content.uid, patch: content.patch } }
    case 'export': {
      const { url, apiKey, payloadBytesMax, indexes } = content
      const byPattern = indexes.map(({ pattern, ...rest }) => [pattern, rest])
      return {
        export: {
          url,
          api_key: apiKey,
          payload_size: payloadBytesMax,
          indexes: Object.fromEntries(byPattern),
        },
      }
    }
    default:
      return content.kind
  }
}

const matched = ({
  query,
  tasks,
}: {
  readonly query: string
  readonly tasks: readonly number[]
}): Fields => ({
  query,
  tasks: [...encodeRoaring(tasks)],
})

/** What an ended task had to do, as far as it still tells. */
function pastContent({ type, details = {} }: DumpedTask['task']): TaskContent {
  switch (type) {
    case 'documentAdditionOrUpdate':
      return {
        kind: 'documents',
        method: 'replace',
        payload: { format: 'ndjson', text: '' },
        payloadBytes: 0,
        receivedDocuments: Number(details.receivedDocuments ?? 0),
        primaryKey: null,
        skipCreation: false,
        mayCreateIndex: true,
      }
    case 'documentEdition':
      return {
        kind: 'edit',
        function: String(details.function ?? ''),
        filter: pastFilter(details),
        context: (details.context ?? null) as Fields | null,
      }
    case 'documentDeletion':
      if (typeof details.originalFilter === 'string')
        return { kind: 'deleteByFilter', filter: pastFilter(details) }
      return Object.hasOwn(details, 'providedIds') ? { kind: 'deleteByIds', ids: [] } : { kind: 'clear' }
    case 'settingsUpdate':
      return { kind: 'settings', patch: details, details, isReset: false, mayCreateIndex: true }
    case 'indexCreation':
      return { kind: 'indexCreation', primaryKey: textOrNull(details.primaryKey) }
    case 'indexUpdate':
      return {
        kind: 'indexUpdate',
        primaryKey: textOrNull(details.primaryKey),
        newUid: textOrNull(details.newIndexUid),
      }
    case 'indexSwap':
      return {
        kind: 'indexSwap',
        swaps: details.swaps as Extract<TaskContent, { kind: 'indexSwap' }>['swaps'],
      }
    case 'taskCancelation':
    case 'taskDeletion':
      return { kind: type, query: String(details.originalFilter ?? ''), tasks: [] }
    case 'dsrUpdate':
      return { kind: 'dsrUpdate', uid: '', patch: (details.rule ?? null) as null }
    case 'export':
      return {
        kind: 'export',
        url: String(details.url ?? ''),
        apiKey: null,
        payloadBytesMax: null,
        indexes: [],
      }
    case 'upgradeDatabase':
    case 'networkTopologyChange':
      throw new TypeError(`no task of the type ${type} is ever made`)
    default:
      return { kind: type }
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Details show a filter as JSON text. */
const pastFilter = ({ originalFilter }: Details): unknown =>
  typeof originalFilter === 'string' ? JSON.parse(originalFilter) : null
