/** Model of the indexes: applies writes by the outcome of their tasks, and compares it with a server. */
import type { ServerProcess } from '../../__test__/support/server-process.js'

/** A task as the API returns it. */
export interface TaskView {
  readonly uid: number
  readonly type: string
  readonly batchUid: number | null
  readonly status: string
  readonly customMetadata?: string
  readonly details: Readonly<Record<string, unknown>> | null
  readonly canceledBy: number | null
  readonly enqueuedAt: string
  readonly startedAt: string | null
  readonly finishedAt: string | null
  readonly error: { readonly code: string; readonly message: string } | null
}

export type Document = Readonly<Record<string, unknown>>

export type Write =
  | { readonly kind: 'add'; readonly index: string; readonly documents: readonly Document[] }
  | { readonly kind: 'update'; readonly index: string; readonly documents: readonly Document[] }
  | { readonly kind: 'delete'; readonly index: string; readonly ids: readonly number[] }
  | { readonly kind: 'clear'; readonly index: string }
  | { readonly kind: 'edit'; readonly index: string }
  | { readonly kind: 'settings'; readonly index: string; readonly word: string }
  | { readonly kind: 'swap' }
  | { readonly kind: 'drop'; readonly index: string }

/** Indexes that always exist. */
export const permanentIndexes = ['left', 'right'] as const
/** An index that is created and deleted repeatedly. */
export const TRANSIENT_INDEX = 'passing'
/** Error codes for faults of the system. */
const systemCodes = new Set([
  'internal',
  'io_error',
  'no_space_left_on_device',
  'too_many_open_files',
  'invalid_store_file',
  'index_damaged',
])

/** Expected content of an index. */
export interface ModelIndex {
  readonly documents: Map<number, Document>
  stopWords: readonly string[]
}

/** Context of a task. */
export interface TaskContext {
  /** Returns the tasks of a batch. */
  ofBatch(batchUid: number | null): readonly TaskView[]
  /** Returns true if a client's cancelation explains why a task is canceled. */
  isCanceled(task: TaskView): boolean
}

/**
 * Applies a write to the model if its task succeeded.
 * @returns a line for each error in the task
 */
export function applied(
  model: Map<string, ModelIndex>,
  write: Write,
  task: TaskView,
  { ofBatch, isCanceled }: TaskContext,
): string[] {
  const label = `task ${task.uid} (${write.kind})`
  if (task.status === 'canceled')
    return isCanceled(task) ? [] : [`${label}: is canceled without a cancelation`]
  if (task.status !== 'succeeded') {
    const code = task.error?.code ?? ''
    const lacksIndex =
      code === 'index_not_found' && 'index' in write && (model.get(write.index)?.documents.size ?? 0) === 0
    if (lacksIndex) model.delete((write as { index: string }).index)
    return task.status === 'failed' && (systemCodes.has(code) || lacksIndex)
      ? []
      : [`${label}: is ${task.status} with ${code}: ${task.error?.message}`]
  }
  if (write.kind === 'swap') {
    const [left, right] = permanentIndexes.map((index) => model.get(index))
    if (right !== undefined) model.set(permanentIndexes[0], right)
    if (left !== undefined) model.set(permanentIndexes[1], left)
    return []
  }
  if (write.kind === 'drop') {
    model.delete(write.index)
    return []
  }
  const index = model.get(write.index) ?? { documents: new Map(), stopWords: [] }
  model.set(write.index, index)
  const expected = applyWrite(index, write)
  const together = ofBatch(task.batchUid).filter(({ uid }) => uid !== task.uid)
  // If a later task of the batch deletes these documents, they are never written, and the deletion counts only
  // documents from before the batch. Counters are not comparable then.
  const isOverridden =
    write.kind === 'clear'
      ? together.length > 0
      : together.some(
          ({ uid, type }) => uid > task.uid && (type === 'documentDeletion' || type === 'indexDeletion'),
        )
  return Object.entries(isOverridden ? {} : expected).flatMap(([counter, value]) =>
    task.details?.[counter] === value
      ? []
      : [`${label}: ${counter} is ${task.details?.[counter]}, expected ${value}`],
  )
}

type IndexWrite = Exclude<Write, { readonly kind: 'swap' | 'drop' }>

/** Applies a write to an index of the model. @returns the expected counters of its task */
function applyWrite(index: ModelIndex, write: IndexWrite): Readonly<Record<string, number>> {
  const { documents } = index
  switch (write.kind) {
    case 'add':
      for (const document of write.documents) documents.set(document.id as number, document)
      return { receivedDocuments: write.documents.length, indexedDocuments: write.documents.length }
    case 'update':
      for (const document of write.documents) {
        documents.set(document.id as number, { ...documents.get(document.id as number), ...document })
      }
      return { receivedDocuments: write.documents.length, indexedDocuments: write.documents.length }
    case 'delete':
      return { deletedDocuments: write.ids.filter((id) => documents.delete(id)).length }
    case 'clear': {
      const deletedDocuments = documents.size
      documents.clear()
      return { deletedDocuments }
    }
    case 'edit':
      for (const [id, document] of documents)
        documents.set(id, { ...document, n: (document.n as number) + 1 })
      return { editedDocuments: documents.size }
    case 'settings':
      index.stopWords = [write.word]
      return {}
  }
}

/** Returns a line for each difference between an index and the model. */
export async function differences(
  server: ServerProcess,
  uid: string,
  model: ReadonlyMap<string, ModelIndex>,
): Promise<string[]> {
  const wanted = model.get(uid)
  const fetched = await server.call('POST', `/indexes/${uid}/documents/fetch`, { limit: 10_000 })
  if (fetched.status === 404)
    return wanted === undefined || wanted.documents.size === 0 ? [] : [`${uid}: is lost`]
  if (fetched.status !== 200) return [`${uid}: ${fetched.status} ${JSON.stringify(fetched.body)}`]
  const { results } = fetched.body as { results: readonly Document[] }
  const problems: string[] = []
  const found = new Map(results.map((document) => [document.id as number, document]))
  if (found.size !== results.length) problems.push(`${uid}: has duplicate documents`)
  for (const id of new Set([...found.keys(), ...(wanted?.documents.keys() ?? [])])) {
    const [is, should] = [found.get(id), wanted?.documents.get(id)].map(brief)
    if (is !== should) problems.push(`${uid}: document ${id} is ${is}, expected ${should}`)
  }
  const { body } = await server.call('GET', `/indexes/${uid}/settings/stop-words`)
  const words = JSON.stringify(wanted?.stopWords ?? [])
  if (JSON.stringify(body) !== words)
    problems.push(`${uid}: stop words are ${JSON.stringify(body)}, expected ${words}`)
  // A search must count the same number of documents.
  const search = await server.call('POST', `/indexes/${uid}/search`, { q: '', limit: 1 })
  const { estimatedTotalHits } = search.body as { estimatedTotalHits?: number }
  if (estimatedTotalHits !== results.length) {
    problems.push(`${uid}: a search counts ${estimatedTotalHits} documents, expected ${results.length}`)
  }
  return problems
}

/** Shows a document in one short line, with sorted fields. */
const brief = (document: Document | undefined): string =>
  document === undefined
    ? 'absent'
    : JSON.stringify(Object.entries(document).toSorted(([a], [b]) => (a < b ? -1 : 1))).slice(0, 80)
