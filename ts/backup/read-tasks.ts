/** Here is a line of an archive: which task or batch is it? The way back of `task-lines.ts`. */

import type { Payload } from '../engine/index.js'
import { isErrorCode } from '../errors/index.js'
import { readJsonText, readNode } from '../parse/index.js'
import { settingsBody, settingsChange } from '../settings/index.js'
import {
  type DumpedBatch,
  type DumpedTask,
  type Task,
  type TaskContent,
  type TaskType,
  taskStatuses,
} from '../tasks/index.js'
import { DumpError } from './dump-error.js'
import {
  booleanOf,
  dateOf,
  type Fields,
  fieldsOf,
  indexUidOf,
  listOf,
  mapOf,
  oneOf,
  orNull,
  textOf,
  uidOf,
  unexpected,
} from './fields.js'
import { decodeRoaring } from './roaring.js'
import { RULES_INDEX, rulePatchOf } from './rules.js'

/** What the upload of a waiting task has become. */
export interface Upload {
  readonly payload: Payload
  readonly bytes: number
}

/** Variant of a line's `type` → type of the task. */
const types: Readonly<Record<string, TaskType>> = {
  documentImport: 'documentAdditionOrUpdate',
  documentDeletion: 'documentDeletion',
  documentDeletionByFilter: 'documentDeletion',
  documentClear: 'documentDeletion',
  documentEdition: 'documentEdition',
  settings: 'settingsUpdate',
  indexCreation: 'indexCreation',
  indexDeletion: 'indexDeletion',
  indexUpdate: 'indexUpdate',
  indexSwap: 'indexSwap',
  taskCancelation: 'taskCancelation',
  tasksDeletion: 'taskDeletion',
  dumpCreation: 'dumpCreation',
  snapshotCreation: 'snapshotCreation',
  export: 'export',
  upgradeDatabase: 'upgradeDatabase',
  indexCompaction: 'indexCompaction',
  networkTopologyChange: 'networkTopologyChange',
  dsrUpdate: 'dsrUpdate',
  dsrClear: 'dsrClear',
}

/**
 * A line of `tasks/queue.jsonl`. @param upload gives the upload of a waiting task
 * @throws DumpError
 */
export async function taskOf(
  value: unknown,
  at: string,
  upload: (uid: number) => Promise<Upload>,
): Promise<DumpedTask> {
  const line = fieldsOf(value, at)
  const uid = uidOf(line.uid, `${at}: uid`)
  const [variant, fields] = variantOf(line.type, `${at}: type`)
  const type = types[variant]
  if (type === undefined) throw unexpected(variant, `${at}: type`, 'a type of tasks')
  const status = oneOf(line.status, `${at}: status`, taskStatuses)
  const isWaiting = status === 'enqueued' || status === 'processing'
  const content = isWaiting ? await contentOf(uid, variant, fields, at, upload) : null
  const { details, error, customMetadata } = line
  const task: Task = {
    uid,
    batchUid: isWaiting ? null : orNull(line.batchUid, `${at}: batchUid`, uidOf),
    indexUid: orNull(line.indexUid, `${at}: indexUid`, taskIndexOf),
    status: isWaiting ? 'enqueued' : status,
    type,
    canceledBy: orNull(line.canceledBy, `${at}: canceledBy`, uidOf),
    ...(details !== undefined && details !== null && { details: detailsOf(type, details, `${at}: details`) }),
    error: orNull(error, `${at}: error`, errorOf),
    duration: null,
    enqueuedAt: dateOf(line.enqueuedAt, `${at}: enqueuedAt`),
    startedAt: isWaiting ? null : orNull(line.startedAt, `${at}: startedAt`, dateOf),
    finishedAt: isWaiting ? null : dateOf(line.finishedAt, `${at}: finishedAt`),
    ...(typeof customMetadata === 'string' && { customMetadata }),
  }
  return { task, newIndexUid: newIndexUidOf(line, task), content }
}

/** Tasks of rules name an index that is none. */
const taskIndexOf = (value: unknown, at: string): string =>
  value === RULES_INDEX ? RULES_INDEX : indexUidOf(value, at)

/** Other writers do not say it: then it is what a rename that went well tells in its details. */
function newIndexUidOf(line: Fields, { type, status, details }: Task): string | null {
  if (typeof line.newIndexUid === 'string') return line.newIndexUid
  const renamed = type === 'indexUpdate' && status === 'succeeded' ? details?.newIndexUid : null
  return typeof renamed === 'string' ? renamed : null
}

/** A line of `batches/queue.jsonl`. @throws DumpError */
export function batchOf(value: unknown, at: string): DumpedBatch {
  const line = fieldsOf(value, at)
  const startedAt = dateOf(line.startedAt, `${at}: startedAt`)
  const arrival = orNull(line.enqueuedAt, `${at}: enqueuedAt`, fieldsOf)
  const { stopReason } = line
  return {
    batch: {
      uid: uidOf(line.uid, `${at}: uid`),
      progress: null,
      details: fieldsOf(line.details ?? {}, `${at}: details`),
      stats: fieldsOf(line.stats ?? {}, `${at}: stats`),
      duration: null,
      startedAt,
      finishedAt: dateOf(line.finishedAt, `${at}: finishedAt`),
      batchStrategy: typeof stopReason === 'string' ? stopReason : 'unspecified',
    },
    oldestEnqueuedAt: arrival === null ? startedAt : dateOf(arrival.oldest, `${at}: enqueuedAt.oldest`),
    newestEnqueuedAt: arrival === null ? startedAt : dateOf(arrival.earliest, `${at}: enqueuedAt.earliest`),
  }
}

/** A bare word, or an object with one key. */
function variantOf(value: unknown, at: string): readonly [string, Fields] {
  if (typeof value === 'string') return [value, {}]
  const [entry, ...others] = Object.entries(fieldsOf(value, at))
  if (entry === undefined || others.length > 0) throw unexpected(value, at, 'an object with one key')
  return [entry[0], fieldsOf(entry[1] ?? {}, `${at}.${entry[0]}`)]
}

function errorOf(value: unknown, at: string): NonNullable<Task['error']> {
  const { message, code, type, link } = fieldsOf(value, at)
  const known = textOf(code, `${at}.code`)
  if (!isErrorCode(known)) throw unexpected(code, `${at}.code`, 'a code of the table')
  const types = ['invalid_request', 'internal', 'auth', 'system'] as const
  return {
    message: textOf(message, `${at}.message`),
    code: known,
    type: oneOf(type, `${at}.type`, types),
    link: textOf(link, `${at}.link`),
  }
}

function detailsOf(type: TaskType, value: unknown, at: string): Fields {
  const [variant, fields] = variantOf(value, at)
  if (variant === 'SettingsUpdate') return fieldsOf(fields.settings ?? {}, `${at}.settings`)
  const details = Object.fromEntries(Object.entries(fields).map(([key, one]) => [camelCase(key), one]))
  if (type === 'indexUpdate' || type === 'indexCreation') {
    const { oldIndexUid = null, newIndexUid = null, ...rest } = details
    // Another writer says null for what was not asked for.
    return { ...rest, ...(newIndexUid !== null && { oldIndexUid, newIndexUid }) }
  }
  if (variant === 'DocumentDeletion') return { ...details, originalFilter: null }
  if (variant === 'DocumentDeletionByFilter') return { providedIds: 0, deletedDocuments: null, ...details }
  return details
}

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

async function contentOf(
  uid: number,
  variant: string,
  fields: Fields,
  line: string,
  upload: (uid: number) => Promise<Upload>,
): Promise<TaskContent> {
  const at = `${line}: type.${variant}`
  switch (variant) {
    case 'documentImport': {
      const { payload, bytes } = await upload(uid)
      const method = oneOf(fields.method, `${at}.method`, ['ReplaceDocuments', 'UpdateDocuments'])
      return {
        kind: 'documents',
        method: method === 'ReplaceDocuments' ? 'replace' : 'update',
        payload,
        payloadBytes: bytes,
        receivedDocuments: uidOf(fields.documents_count, `${at}.documents_count`),
        primaryKey: orNull(fields.primary_key, `${at}.primary_key`, textOf),
        skipCreation: fields.skip_creation === true,
        mayCreateIndex: booleanOf(fields.allow_index_creation, `${at}.allow_index_creation`),
      }
    }
    case 'documentDeletion':
      return { kind: 'deleteByIds', ids: listOf(fields.documents_ids, `${at}.documents_ids`, textOf) }
    case 'documentDeletionByFilter':
      return { kind: 'deleteByFilter', filter: fields.filter ?? null }
    case 'documentClear':
      return { kind: 'clear' }
    case 'documentEdition':
      return {
        kind: 'edit',
        function: textOf(fields.function, `${at}.function`),
        filter: fields.filter ?? null,
        context: orNull(fields.context, `${at}.context`, fieldsOf),
      }
    case 'settings': {
      const sent = readNode(readJsonText(JSON.stringify(fields.settings ?? {})), settingsBody)
      return {
        kind: 'settings',
        ...settingsChange(sent, everyFeature),
        isReset: booleanOf(fields.is_deletion, `${at}.is_deletion`),
        mayCreateIndex: booleanOf(fields.allow_index_creation, `${at}.allow_index_creation`),
      }
    }
    case 'indexCreation':
      return { kind: variant, primaryKey: orNull(fields.primary_key, `${at}.primary_key`, textOf) }
    case 'indexUpdate':
      return {
        kind: variant,
        primaryKey: orNull(fields.primary_key, `${at}.primary_key`, textOf),
        newUid: orNull(fields.uid ?? fields.new_index_uid, `${at}.uid`, textOf),
      }
    case 'indexSwap':
      return { kind: variant, swaps: listOf(fields.swaps, `${at}.swaps`, swapOf) }
    case 'taskCancelation':
    case 'tasksDeletion':
      return {
        kind: variant === 'taskCancelation' ? variant : 'taskDeletion',
        query: textOf(fields.query, `${at}.query`),
        tasks: numbersOf(fields.tasks, `${at}.tasks`),
      }
    case 'dsrUpdate':
      return {
        kind: variant,
        uid: textOf(fields.uid, `${at}.uid`),
        patch: orNull(fields.patch, `${at}.patch`, rulePatchOf),
      }
    case 'export':
      return {
        kind: variant,
        url: textOf(fields.url, `${at}.url`),
        apiKey: orNull(fields.api_key, `${at}.api_key`, textOf),
        payloadBytesMax: orNull(fields.payload_size, `${at}.payload_size`, uidOf),
        indexes: Object.entries(mapOf(fields.indexes, `${at}.indexes`, exportedOf)).map(
          ([pattern, rest]) => ({
            pattern,
            ...rest,
          }),
        ),
      }
    case 'indexDeletion':
    case 'indexCompaction':
    case 'dumpCreation':
    case 'snapshotCreation':
    case 'dsrClear':
      return { kind: variant }
    default:
      throw new DumpError(
        `${line}: a waiting task of the type ${variant} cannot be carried out by this version`,
      )
  }
}

const everyFeature = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }

function swapOf(value: unknown, at: string) {
  const { indexes, rename } = fieldsOf(value, at)
  const [a, b, ...others] = listOf(indexes, `${at}.indexes`, textOf)
  if (a === undefined || b === undefined || others.length > 0)
    throw unexpected(indexes, `${at}.indexes`, 'two index uids')
  return { indexes: [a, b] as const, rename: rename === true }
}

function exportedOf(value: unknown, at: string) {
  const { filter = null, overrideSettings, override_settings } = fieldsOf(value, at)
  return { filter, overrideSettings: (overrideSettings ?? override_settings) === true }
}

function numbersOf(value: unknown, at: string): readonly number[] {
  const bytes = Buffer.from(listOf(value, at, uidOf))
  try {
    return decodeRoaring(bytes)
  } catch (error) {
    if (error instanceof RangeError) throw new DumpError(`${at}: ${error.message}`)
    throw error
  }
}
