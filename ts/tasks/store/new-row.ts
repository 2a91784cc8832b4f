import { basename } from 'node:path'
import { ApiError } from '../../errors/index.js'
import { SENT_TASK_BYTES_MAX } from '../limits.js'
import { detailsBefore } from '../listing/details.js'
import { presentPatch } from '../rules/index.js'
import { fileOf } from '../spool.js'
import type { TaskContent } from '../task.js'
import type { NewTask } from '../tasks.js'
import type { NewRow } from './records.js'

/** Replaces the path of a payload by its file name, so that a data directory can be moved. */
export function withFileName(content: TaskContent): TaskContent {
  if (content.kind !== 'documents' || 'text' in content.payload) return content
  return { ...content, payload: { ...content.payload, path: basename(content.payload.path) } }
}

/** Builds the row of a new task. @param content as returned by `withFileName` */
export function newRow({ indexUid, type, customMetadata }: NewTask, content: TaskContent): NewRow {
  const touched = touchedBy(content)
  return {
    indexUid,
    type,
    details: detailsText(content, indexUid),
    customMetadata: customMetadata ?? null,
    content: contentText(content),
    kind: content.kind,
    payload: fileOf(content),
    payloadBytes: content.kind === 'documents' ? content.payloadBytes : 0,
    primaryKey: content.kind === 'documents' ? content.primaryKey : null,
    mayCreateIndex: (content.kind === 'documents' || content.kind === 'settings') && content.mayCreateIndex,
    touches: touched.length === 0 ? null : JSON.stringify(touched),
    matched: 'tasks' in content ? content.tasks.length : null,
  }
}

/**
 * Requires that a record of a bucket's log can hold the rows of a new task.
 * @throws ApiError `payload_too_large`
 */
export function requireSendable({ content, details }: NewRow): void {
  for (const text of [content, details ?? '']) {
    const bytes = bytesInJson(text)
    if (bytes > SENT_TASK_BYTES_MAX)
      throw new ApiError(
        'payload_too_large',
        `the task takes ${bytes} bytes in the log of the bucket, more than the accepted ${SENT_TASK_BYTES_MAX}: ask in several requests`,
      )
  }
}

/** Longest JSON escape of a UTF-16 unit, which is longer than its UTF-8. */
const ESCAPE_BYTES_MAX = 6

/** Returns the bytes of a text as a JSON string, or an upper limit if that is small. */
function bytesInJson(text: string): number {
  const bytesMax = text.length * ESCAPE_BYTES_MAX
  return bytesMax <= SENT_TASK_BYTES_MAX ? bytesMax : Buffer.byteLength(JSON.stringify(text))
}

function detailsText(content: TaskContent, indexUid: string | null): string | null {
  if (content.kind === 'settings') return content.details
  const details = detailsBefore(content, indexUid)
  return details === null ? null : JSON.stringify(details)
}

/** Start of the text of settings. The patch comes last, so that it can be found without parsing megabytes. */
const SETTINGS_START = '{"kind":"settings","isReset":'
const PATCH = ',"patch":'

/** Serialises the content of a task for the store. */
function contentText(content: TaskContent): string {
  if (content.kind !== 'settings') return JSON.stringify(content)
  const { isReset, mayCreateIndex, reanalyses, patch } = content
  const rest = reanalyses === true ? ',"reanalyses":true' : ''
  return `${SETTINGS_START}${isReset},"mayCreateIndex":${mayCreateIndex}${rest}${PATCH}${patch}}`
}

/** Parses the stored content of a task. @param text as written by `contentText` or an earlier version */
export function storedContent(text: string): TaskContent {
  if (!text.startsWith(SETTINGS_START)) return withTexts(JSON.parse(text) as StoredContent)
  const at = text.indexOf(PATCH)
  const head = JSON.parse(`${text.slice(0, at)}}`) as Omit<SettingsContent, 'kind' | 'patch' | 'details'>
  const patch = text.slice(at + PATCH.length, -1)
  return { kind: 'settings', ...head, patch, details: '' }
}

type SettingsContent = Extract<TaskContent, { kind: 'settings' }>
/** Earlier versions wrote settings as objects. */
type StoredContent =
  | Exclude<TaskContent, SettingsContent>
  | (Omit<SettingsContent, 'patch'> & { readonly patch: object })

function withTexts(content: StoredContent): TaskContent {
  if (content.kind === 'settings') return { ...content, patch: JSON.stringify(content.patch), details: '' }
  if (content.kind !== 'dsrUpdate' || content.patch === null) return content
  return { ...content, patch: presentPatch(content.patch) }
}

function touchedBy(content: TaskContent): readonly string[] {
  if (content.kind === 'indexSwap') return content.swaps.flatMap(({ indexes }) => indexes)
  return content.kind === 'indexUpdate' && content.newUid !== null ? [content.newUid] : []
}
