import { open } from 'node:fs/promises'
import {
  type Engine,
  encodeRequest,
  type FilterValue,
  type Operation,
  type RunScript,
} from '../../engine/index.js'
import type { Spool } from '../spool.js'
import type { CatalogueRow } from '../store/records.js'
import type { TaskContent } from '../task.js'

/** Documents that are read, edited and written at once. */
const PAGE_DOCUMENTS = 1_000
/** Maximum time of a script for all documents of its task. */
const TASK_MS_MAX = 300_000

type Edit = Extract<TaskContent, { readonly kind: 'edit' }>

/** The services and callbacks that an edit uses. */
interface EditContext {
  readonly engine: Engine
  readonly slot: Spool['slot']
  /** Removes a file of the spool, or logs why it could not. */
  readonly remove: (path: string) => Promise<void>
  readonly runScript: RunScript
  /** Aborted when the task is canceled or the process is about to stop. The function then ends. */
  readonly signal: AbortSignal
  /** Throws `Interrupted` if the batch is interrupted. Called between pages and after the function failed. */
  readonly checkpoint: () => void
  /** Sets the progress within the step. */
  count(unit: string, finished: number, total: number): void
}

/**
 * Runs the script of an edit over the stored documents. Writes changed documents to a file of the spool, which the
 * caller removes after the commit.
 * @throws ApiError `edit_documents_by_function_error`, `invalid_document_filter`
 */
export async function editDocuments(
  edit: Edit,
  taskUid: number,
  row: CatalogueRow,
  { engine, slot, remove, runScript, signal, checkpoint, count }: EditContext,
): Promise<Extract<Operation, { readonly kind: 'edit' }>> {
  const { path } = slot('ndjson')
  // Uses a monotonic clock, because the system date may change while the script runs.
  const deadline = performance.now() + TASK_MS_MAX
  const deleted: string[] = []
  let total = 0
  let changedBytes = 0
  const file = await open(path, 'wx')
  try {
    for (let offset = 0; offset === 0 || offset < total; ) {
      checkpoint()
      const documents = await engine.documents(row.id, listing(row.uid, edit.filter, offset))
      total = totalOf(documents)
      count('document', offset, total)
      const { function: source, context } = edit
      const timeMsMax = Math.max(0, Math.ceil(deadline - performance.now()))
      const { primaryKey } = row
      const script = { function: source, context, primaryKey, timeMsMax, documents }
      const page = await runScript(script, signal)
      await file.appendFile(page.changed)
      changedBytes += page.changed.length
      for (const id of page.deleted) deleted.push(id)
      if (total === 0) break
      if (page.documents === 0) throw new Error('a script processed no document of a page')
      offset += page.documents
    }
  } catch (error) {
    await file.close()
    await remove(path)
    // An interruption makes the function fail. This must not be reported as an error of the function.
    checkpoint()
    throw error
  }
  await file.close()
  const payload = changedBytes === 0 ? null : ({ path, format: 'ndjson' } as const)
  if (payload === null) await remove(path)
  return { taskUid, kind: 'edit', payload, deleted, editedDocuments: total }
}

function listing(indexUid: string, filter: unknown, offset: number): Uint8Array {
  const request = {
    indexUid,
    offset,
    limit: PAGE_DOCUMENTS,
    fields: null,
    retrieveVectors: false,
    ids: null,
    filter: filter as FilterValue | null,
    sort: null,
    // The route has already refused filters that need a disabled feature.
    features: { containsFilter: true, legacySearch: false, multimodal: true, foreignKeys: false },
  }
  return encodeRequest(request)
}

/** Reads `total` without parsing the documents: it is the last member of a listing. */
function totalOf(listed: Uint8Array): number {
  const end = Buffer.from(listed.subarray(-64)).toString()
  const digits = /"total":(\d+)\}$/.exec(end)?.[1]
  if (digits === undefined) throw new Error('a listing of documents does not end with its total')
  return Number(digits)
}
