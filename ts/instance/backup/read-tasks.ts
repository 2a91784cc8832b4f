/** Reads tasks and batches from lines of an archive. The inverse of `task-lines.ts`. */
import { isDeepStrictEqual } from 'node:util'
import {
  type DumpedBatch,
  type DumpedTask,
  type Task,
  type TaskType,
  taskStatuses,
} from '../../tasks/index.js'
import { dateOf, type Fields, fieldsOf, indexUidOf, oneOf, orNull, uidOf, unexpected } from './fields.js'
import { ruleChangeOf } from './rule-tasks.js'
import { RULES_INDEX } from './rules.js'
import { batchForm, errorForm, upgradeDetails } from './task-forms.js'
import { contentOf, isPrivate, kindLine, typeByVariant, type Upload } from './task-kinds.js'

/**
 * Returns the task of a line of `tasks/queue.jsonl`.
 * @param upload returns the upload of a waiting task by its uid
 * @throws ArchiveError
 */
export async function taskOf(
  value: unknown,
  at: string,
  upload: (uid: number) => Promise<Upload>,
): Promise<DumpedTask> {
  const line = ruleChangeOf(fieldsOf(value, at))
  const uid = uidOf(line.uid, `${at}: uid`)
  const [variant, fields] = variantOf(line.type, `${at}: type`)
  const type = typeByVariant[variant]
  if (type === undefined) throw unexpected(variant, `${at}: type`, 'a type of tasks')
  const status = oneOf(line.status, `${at}: status`, taskStatuses)
  const isWaiting = status === 'enqueued' || status === 'processing'
  const content = isWaiting ? await contentOf(variant, fields, at, () => upload(uid)) : null
  const { details, error, customMetadata } = line
  const task: Task = {
    uid,
    batchUid: isWaiting ? null : orNull(line.batchUid, `${at}: batchUid`, uidOf),
    indexUid: orNull(line.indexUid, `${at}: indexUid`, taskIndexOf),
    status: isWaiting ? 'enqueued' : status,
    type,
    canceledBy: orNull(line.canceledBy, `${at}: canceledBy`, uidOf),
    ...(details !== undefined && details !== null && { details: detailsOf(type, details, `${at}: details`) }),
    error: orNull(error, `${at}: error`, errorForm.read),
    duration: null,
    enqueuedAt: dateOf(line.enqueuedAt, `${at}: enqueuedAt`),
    startedAt: isWaiting ? null : orNull(line.startedAt, `${at}: startedAt`, dateOf),
    finishedAt: isWaiting ? null : dateOf(line.finishedAt, `${at}: finishedAt`),
    ...(typeof customMetadata === 'string' && { customMetadata }),
  }
  const dumped = { task, newIndexUid: newIndexUidOf(line, task), content, foreign: null }
  const isKept = !isWaiting && isPrivate(type) && !isDeepStrictEqual(kindLine(dumped), line.type)
  return isKept ? { ...dumped, foreign: fields } : dumped
}

/** Returns the index uid of a task. Tasks about rules have a uid that index names do not allow. */
const taskIndexOf = (value: unknown, at: string): string =>
  value === RULES_INDEX ? RULES_INDEX : indexUidOf(value, at)

/**
 * Returns the new uid of a renamed index. Other writers lack this field: then it is in the details of a succeeded task.
 */
function newIndexUidOf(line: Fields, { type, status, details }: Task): string | null {
  if (typeof line.newIndexUid === 'string') return line.newIndexUid
  const renamed = type === 'indexUpdate' && status === 'succeeded' ? details?.newIndexUid : null
  return typeof renamed === 'string' ? renamed : null
}

/** Returns the batch of a line of `batches/queue.jsonl`. @throws ArchiveError */
export function batchOf(value: unknown, at: string): DumpedBatch {
  const { enqueuedAt, stopReason, embedderStats, ...batch } = batchForm.read(value, at)
  const stats =
    embedderStats === undefined ? batch.stats : { ...batch.stats, embedderRequests: embedderStats }
  return {
    batch: { ...batch, stats, progress: null, duration: null, batchStrategy: stopReason },
    oldestEnqueuedAt: enqueuedAt?.oldest ?? batch.startedAt,
    newestEnqueuedAt: enqueuedAt?.earliest ?? batch.startedAt,
  }
}

/** Returns the variant of a `type`, which is a word or an object with one key, and its fields. */
function variantOf(value: unknown, at: string): readonly [string, Fields] {
  if (typeof value === 'string') return [value, {}]
  const [entry, ...more] = Object.entries(fieldsOf(value, at))
  if (entry === undefined || more.length > 0) throw unexpected(value, at, 'an object with one key')
  return [entry[0], fieldsOf(entry[1] ?? {}, `${at}.${entry[0]}`)]
}

function detailsOf(type: TaskType, value: unknown, at: string): Fields {
  const [variant, fields] = variantOf(value, at)
  if (variant === 'SettingsUpdate') return fieldsOf(fields.settings ?? {}, `${at}.settings`)
  if (variant === 'UpgradeDatabase') return upgradeDetails.read(fields, at)
  // Other services put private members into the details of a rule change.
  if (variant === 'DsrUpdate' && fields.updated_rules === undefined) return fields
  const details = Object.fromEntries(Object.entries(fields).map(([key, one]) => [camelCase(key), one]))
  if (type === 'indexUpdate' || type === 'indexCreation') {
    const { oldIndexUid = null, newIndexUid = null, ...rest } = details
    // Another writer has null for members missing in the request.
    return { ...rest, ...(newIndexUid !== null && { oldIndexUid, newIndexUid }) }
  }
  if (variant === 'DocumentDeletion') return { ...details, originalFilter: null }
  if (variant === 'DocumentDeletionByFilter') return { providedIds: 0, deletedDocuments: null, ...details }
  return details
}

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
