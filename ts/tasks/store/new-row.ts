import { basename } from 'node:path'
import { detailsBefore } from '../listing/details.js'
import { fileOf } from '../spool.js'
import type { TaskContent } from '../task.js'
import type { NewTask } from '../tasks.js'
import type { NewRow } from './records.js'

/** Payloads are kept by file name, so that a data directory can be moved. */
export function withFileName(content: TaskContent): TaskContent {
  if (content.kind !== 'documents' || 'text' in content.payload) return content
  return { ...content, payload: { ...content.payload, path: basename(content.payload.path) } }
}

/** What the store appends for a task. @param content as `withFileName` gives it */
export function newRow({ indexUid, type, customMetadata }: NewTask, content: TaskContent): NewRow {
  const details = detailsBefore(content, indexUid)
  const touched = touchedBy(content)
  return {
    indexUid,
    type,
    details: details === null ? null : JSON.stringify(details),
    customMetadata: customMetadata ?? null,
    content: JSON.stringify(content),
    kind: content.kind,
    payload: fileOf(content),
    payloadBytes: content.kind === 'documents' ? content.payloadBytes : 0,
    primaryKey: content.kind === 'documents' ? content.primaryKey : null,
    mayCreateIndex: (content.kind === 'documents' || content.kind === 'settings') && content.mayCreateIndex,
    touches: touched.length === 0 ? null : JSON.stringify(touched),
    matched: 'tasks' in content ? content.tasks.length : null,
  }
}

function touchedBy(content: TaskContent): readonly string[] {
  if (content.kind === 'indexSwap') return content.swaps.flatMap(({ indexes }) => indexes)
  return content.kind === 'indexUpdate' && content.newUid !== null ? [content.newUid] : []
}
