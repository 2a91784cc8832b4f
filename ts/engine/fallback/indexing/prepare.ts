/**
 * Plans a batch: the index after it, and the outcome of each task.
 *
 * The index is not changed here; `applyPlan` applies the result. Source: documents §2–6.
 * 1. Operations run in order, each on the result of its predecessors.
 * 2. A failed operation changes nothing; the other operations continue.
 * 3. A docid belongs to its document until it is deleted. Free docids are assigned in ascending order, in payload
 *    order.
 */

import { type IndexSettings, parsedSettings, type Remakes } from '../../../settings/index.js'
import type { Batch, BatchReport, Failure, Operation, OperationOutcome, VectorPage } from '../../batches.js'
import type { DictionaryIds } from '../analysis/words/index.js'
import { ColumnRows, rebuiltColumns } from '../facets/column-rows.js'
import { visitPaths } from '../fields/flatten.js'
import { documentsMatching, FilterError, parseFilter } from '../filter/index.js'
import { type FilterView, type IndexData, type StoredDocument, viewOf } from '../index-data/index-data.js'
import { FIELDS_MAX } from '../limits.js'
import { DocSet } from '../store/docid-set.js'
import { type JsonObject, parseJson, writeJson } from '../store/json.js'
import { ownText } from '../store/own-text.js'
import {
  type EmbedderChange,
  MissingVectors,
  mergedWant,
  PendingEmbeddings,
  type StagedDocumentVectors,
  StagedVectors,
  type StagedWants,
  type Want,
} from '../vector/index.js'
import { GeoFieldReader } from './geo-fields.js'
import type { Pacer } from './pacer.js'
import { documentsOf, PayloadError } from './payload.js'
import { dictionariesAfter, type IndexPlan, planIndexes } from './plan.js'
import { documentId, inferPrimaryKey, OperationError } from './primary-key.js'

/** The state after a batch, ready to be logged and applied. */
export interface BatchPlan {
  readonly report: BatchReport
  readonly primaryKey: string | null
  /** Null if unchanged. */
  readonly settings: IndexSettings | null
  /** True if all documents are cut into words again, even if no setting changes. */
  readonly reanalyses: boolean
  readonly dictionaries: DictionaryIds
  /** True if everything from before the batch is removed. */
  readonly cleared: boolean
  /** Docid → new document, or null if deleted. Ascending. */
  readonly changes: ReadonlyMap<number, StoredDocument | null>
  readonly indexes: IndexPlan
  /** All embedders after the batch, by name. */
  readonly vectors: ReadonlyMap<string, EmbedderChange>
  /** Embedders whose previous vectors are removed. */
  readonly droppedEmbedders: readonly string[]
}

/** A plan that still accepts vectors. */
export interface PreparedPlan extends BatchPlan {
  /** Documents to embed before the commit. */
  readonly work: PendingEmbeddings
  /** Adds generated vectors. */
  addEmbeddings(vectors: VectorPage): void
}

/** The changes of the operations so far. */
class StagedBatch {
  primaryKey: string | null
  settings: IndexSettings
  reanalyses = false
  cleared = false
  readonly vectors: StagedVectors
  readonly changes = new Map<number, StoredDocument | null>()
  private readonly ids = new Map<string, number | null>()
  private readonly index: IndexData
  private nextFree = 0

  constructor(index: IndexData) {
    this.index = index
    this.primaryKey = index.primaryKey
    this.settings = index.settings
    this.vectors = new StagedVectors(index.settings, index.vectors)
  }

  /** Current number of documents. */
  get count(): number {
    let count = this.cleared ? 0 : this.index.docids.size
    for (const [docid, document] of this.changes) {
      const before = !this.cleared && this.index.documents[docid] !== undefined
      count += (document === null ? 0 : 1) - (before ? 1 : 0)
    }
    return count
  }

  docid(id: string): number | undefined {
    const changed = this.ids.get(id)
    if (changed !== undefined) return changed ?? undefined
    return this.cleared ? undefined : this.index.docids.get(id)
  }

  document(docid: number): StoredDocument | undefined {
    const changed = this.changes.get(docid)
    if (changed !== undefined) return changed ?? undefined
    return this.cleared ? undefined : this.index.documents[docid]
  }

  /** Lowest unused docid that was not assigned in this batch yet. */
  freeDocid(taken: ReadonlySet<number>): number {
    const used = (docid: number): boolean =>
      taken.has(docid) ||
      this.changes.has(docid) ||
      (!this.cleared && this.index.documents[docid] !== undefined)
    while (used(this.nextFree)) this.nextFree++
    return this.nextFree++
  }

  put(docid: number, document: StoredDocument): void {
    this.changes.set(docid, document)
    this.ids.set(document.id, docid)
  }

  remove(docid: number): boolean {
    const document = this.document(docid)
    if (document === undefined) return false
    this.changes.set(docid, null)
    this.ids.set(document.id, null)
    this.vectors.remove(docid)
    return true
  }

  clear(): number {
    const count = this.count
    this.cleared = true
    this.changes.clear()
    this.ids.clear()
    this.vectors.clear()
    this.nextFree = 0
    return count
  }

  *documents(): Generator<[number, StoredDocument]> {
    if (!this.cleared)
      for (const [docid, document] of this.index.documents.entries())
        if (document !== undefined && !this.changes.has(docid)) yield [docid, document]
    for (const [docid, document] of this.changes) if (document !== null) yield [docid, document]
  }
}

const parsed = (document: StoredDocument): JsonObject =>
  parseJson(Buffer.from(document.source).toString()) as JsonObject

const encoded = (document: JsonObject): Uint8Array => Buffer.from(writeJson(document))

type Outcome = Omit<OperationOutcome, 'taskUid'>

/** Plans a batch. Rejects only for our own faults; a user's mistakes are in the report. */
export async function planBatch(index: IndexData, batch: Batch, pacer: Pacer): Promise<PreparedPlan> {
  const staged = new StagedBatch(index)
  const documents = batch.operations.reduce((sum, operation) => sum + documentsIn(operation), 0)
  pacer.progress.begin({ currentStep: 'computing document changes', finished: 0, total: 2 }, documents)
  const outcomes: OperationOutcome[] = []
  for (const operation of batch.operations) {
    const { taskUid } = operation
    try {
      outcomes.push({ taskUid, ...(await applyOperation(operation, staged, index, pacer)) })
    } catch (error) {
      const failure = failureOf(error, batch.indexUid)
      if (failure === null) throw error
      outcomes.push({ taskUid, touched: false, ...countsOfFailure(operation), error: failure })
    }
  }
  const changes = new Map([...staged.changes].sort(([a], [b]) => a - b))
  const settings = staged.settings === index.settings ? null : staged.settings
  const dictionaries = dictionariesAfter(index, staged)
  const indexes = await planIndexes(
    index,
    {
      ...{ settings: staged.settings, dictionaries, cleared: staged.cleared },
      ...{ changes, reanalyses: staged.reanalyses },
    },
    pacer,
  )
  return {
    report: {
      batchUid: batch.uid,
      indexUid: batch.indexUid,
      outcomes,
      primaryKey: staged.primaryKey,
      documents: staged.count,
    },
    primaryKey: staged.primaryKey,
    settings,
    reanalyses: staged.reanalyses,
    dictionaries,
    cleared: staged.cleared,
    changes,
    indexes,
    vectors: staged.vectors.changes,
    droppedEmbedders: staged.vectors.droppedSince(index.vectors),
    work: new PendingEmbeddings(staged.vectors.works(), staged.settings, (docid) => staged.document(docid)!),
    addEmbeddings: (vectors) => staged.vectors.addEmbeddings(vectors),
  }
}

/** Number of documents that an operation processes, as far as known in advance. */
function documentsIn(operation: Operation): number {
  switch (operation.kind) {
    case 'documents':
      return operation.documents ?? 0
    case 'deleteByIds':
      return operation.ids.length
    case 'edit':
      return operation.editedDocuments
    default:
      return 0
  }
}

function countsOfFailure(operation: Operation): Partial<Outcome> {
  if (operation.kind === 'documents') return { indexedDocuments: 0 }
  if (operation.kind === 'edit' || operation.kind === 'settings' || operation.kind === 'primaryKey') return {}
  return { deletedDocuments: 0 }
}

function failureOf(error: unknown, indexUid: string): Failure | null {
  if (error instanceof OperationError)
    return { code: error.code, message: `index \`${indexUid}\`: ${error.message}` }
  if (error instanceof PayloadError) return error.failure
  return null
}

async function applyOperation(
  operation: Operation,
  staged: StagedBatch,
  index: IndexData,
  pacer: Pacer,
): Promise<Outcome> {
  switch (operation.kind) {
    case 'documents':
      return addDocuments(operation, staged, index, pacer)
    case 'deleteByIds': {
      let deletedDocuments = 0
      for (const id of operation.ids) {
        pacer.progress.count()
        const docid = staged.docid(id)
        if (docid !== undefined && staged.remove(docid)) deletedDocuments++
      }
      return { touched: deletedDocuments > 0, deletedDocuments }
    }
    case 'deleteByFilter':
      return deleteByFilter(operation.filter, staged, index, pacer)
    case 'edit': {
      const { payload, editedDocuments } = operation
      if (payload !== null) {
        const put = { kind: 'documents', method: 'replace', primaryKey: null, skipCreation: false } as const
        await addDocuments({ ...put, taskUid: operation.taskUid, payload }, staged, index, pacer)
      }
      for (const id of operation.deleted) {
        pacer.progress.count()
        const docid = staged.docid(id)
        if (docid !== undefined) staged.remove(docid)
      }
      return { touched: true, editedDocuments }
    }
    case 'clear':
      return { touched: true, deletedDocuments: staged.clear() }
    case 'settings': {
      const settings = parsedSettings(operation.settings)
      await checkGeoFields(settings, staged, pacer)
      await changeEmbedders(settings, operation.remakes ?? {}, staged, pacer)
      staged.settings = settings
      if (operation.reanalyses === true) staged.reanalyses = true
      return { touched: true }
    }
    case 'primaryKey':
      return declarePrimaryKey(operation.primaryKey, staged)
  }
}

function declarePrimaryKey(primaryKey: string | null, staged: StagedBatch): Outcome {
  if (primaryKey === null) return { touched: false }
  if (staged.primaryKey !== null && staged.primaryKey !== primaryKey && staged.count > 0)
    throw alreadyHasKey(staged.primaryKey)
  staged.primaryKey = primaryKey
  return { touched: true }
}

const alreadyHasKey = (primaryKey: string): OperationError =>
  new OperationError(
    'index_primary_key_already_exists',
    `the index already has the primary key \`${primaryKey}\`; it can be changed while there are no documents`,
  )

async function addDocuments(
  operation: Operation & { kind: 'documents' },
  staged: StagedBatch,
  index: IndexData,
  pacer: Pacer,
): Promise<Outcome> {
  let primaryKey = staged.primaryKey
  if (primaryKey !== null && operation.primaryKey !== null && operation.primaryKey !== primaryKey)
    throw alreadyHasKey(primaryKey)
  primaryKey ??= operation.primaryKey
  // Stored as bytes: a parsed document takes many times more memory, and a batch may have any number of documents.
  const found = new Map<string, Uint8Array | null>()
  const vectors = new Map<string, StagedDocumentVectors>()
  const wants = new Map<string, StagedWants>()
  const missing = new MissingVectors()
  const geoFields = new GeoFieldReader(staged.settings)
  const paths = new NewPaths(index)
  for await (const document of documentsOf(operation.payload)) {
    pacer.progress.count()
    if (pacer.due()) await pacer.pause()
    primaryKey ??= inferPrimaryKey(document)
    const id = ownText(documentId(document, primaryKey))
    const docid = staged.docid(id)
    if (docid === undefined && operation.skipCreation) {
      found.set(id, null)
      continue
    }
    const merged = operation.method === 'update' ? mergedInto(before(found, staged, id), document) : document
    geoFields.read(merged, id)
    paths.note(document)
    const isNew = docid === undefined && !found.has(id)
    const earlier = vectors.get(id)
    const known = (name: string) =>
      earlier?.get(name) ?? (docid === undefined ? undefined : staged.vectors.state(name, docid))
    const sent = staged.vectors.take(merged, id, isNew ? undefined : known)
    for (const embedder of sent.missing) missing.note(id, embedder, merged)
    if (sent.staged.size > 0) vectors.set(id, new Map([...(earlier ?? []), ...sent.staged]))
    if (sent.staged.size + sent.toEmbed.size > 0) {
      // Without a previous version there is nothing to compare with.
      const source = found.get(id) ?? (docid === undefined ? null : staged.document(docid)!.source)
      const compared: Want = { before: source === null ? null : { source, settings: staged.settings } }
      const wanted = new Map(wants.get(id))
      for (const name of sent.staged.keys()) wanted.delete(name)
      for (const [name, { always }] of sent.toEmbed)
        wanted.set(name, mergedWant(wanted.get(name), always ? { before: null } : compared))
      wants.set(id, wanted)
    }
    found.set(id, encoded(merged))
  }
  missing.throwIfAny((id, embedder) => vectors.get(id)?.has(embedder) === true)
  const taken = new Set<number>()
  for (const [id, source] of found) {
    if (source === null) continue
    const docid = staged.docid(id) ?? staged.freeDocid(taken)
    taken.add(docid)
    staged.put(docid, { id, source })
    staged.vectors.put(docid, vectors.get(id) ?? new Map(), wants.get(id) ?? new Map())
    if (pacer.due()) await pacer.pause()
  }
  staged.primaryKey = primaryKey
  return { touched: true, indexedDocuments: found.size }
}

/** Returns the document that an update modifies: the version from this payload, else the indexed version. */
function before(
  found: ReadonlyMap<string, Uint8Array | null>,
  staged: StagedBatch,
  id: string,
): JsonObject | undefined {
  const source = found.get(id)
  if (source === null) return undefined
  if (source !== undefined) return parsed({ id, source })
  const docid = staged.docid(id)
  const stored = docid === undefined ? undefined : staged.document(docid)
  return stored === undefined ? undefined : parsed(stored)
}

function mergedInto(base: JsonObject | undefined, update: JsonObject): JsonObject {
  if (base === undefined) return update
  const merged = new Map(base)
  for (const [name, value] of update) {
    const old = merged.get(name)
    const both = name === '_vectors' && old instanceof Map && value instanceof Map
    merged.set(name, both ? new Map([...old, ...value]) : value)
  }
  return merged
}

/** Limits the number of field names in an index. */
class NewPaths {
  private readonly known: ReadonlyMap<string, number>
  private readonly added = new Set<string>()

  constructor(index: IndexData) {
    this.known = index.fieldIds
  }

  note(document: JsonObject): void {
    // Stop at the first path beyond the limit: a document may have hundreds of thousands.
    visitPaths(document, (path) => {
      if (this.known.has(path)) return
      this.added.add(path)
      if (this.known.size + this.added.size > FIELDS_MAX)
        throw new OperationError(
          'max_fields_limit_exceeded',
          `a document brings the index to more than ${FIELDS_MAX} field names`,
        )
    })
  }
}

/** Validates the geo fields of all stored documents for settings that start to use them. */
async function checkGeoFields(settings: IndexSettings, staged: StagedBatch, pacer: Pacer): Promise<void> {
  const geoFields = GeoFieldReader.newlyRead(settings, staged.settings)
  if (!geoFields.any) return
  for (const [, document] of staged.documents()) {
    geoFields.read(parsed(document), document.id)
    if (pacer.due()) await pacer.pause()
  }
}

/** Changes embedders, which may move vectors between documents and embedders. */
async function changeEmbedders(
  settings: IndexSettings,
  remakes: Remakes,
  staged: StagedBatch,
  pacer: Pacer,
): Promise<void> {
  async function* documents() {
    pacer.progress.expect(staged.count)
    for (const [docid, document] of staged.documents()) {
      yield { docid, id: document.id, document: parsed(document), source: document.source }
      pacer.progress.count()
      if (pacer.due()) await pacer.pause()
    }
  }
  const change = { before: staged.settings, settings, remakes }
  const rewritten = await staged.vectors.reconfigure(change, documents)
  for (const { docid, id, document } of rewritten) staged.put(docid, { id, source: encoded(document) })
}

async function deleteByFilter(
  value: unknown,
  staged: StagedBatch,
  index: IndexData,
  pacer: Pacer,
): Promise<Outcome> {
  const view = await draftView(staged, index, pacer)
  let matching: DocSet
  try {
    const filter = parseFilter(value, { containsFilter: true, multimodal: true, foreignKeys: true })
    matching = filter === null ? new DocSet(0) : documentsMatching(view, filter, () => pacer.check())
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    throw new OperationError(error.code('invalid_document_filter'), error.message)
  }
  let deletedDocuments = 0
  for (const docid of matching.toArray()) if (staged.remove(docid)) deletedDocuments++
  return { touched: deletedDocuments > 0, deletedDocuments }
}

/** Data for a filter: the index itself if no operation changed it yet, else temporary columns. */
async function draftView(staged: StagedBatch, index: IndexData, pacer: Pacer): Promise<FilterView> {
  if (!staged.cleared && staged.changes.size === 0 && staged.settings === index.settings) return viewOf(index)
  const rows = new ColumnRows(staged.settings)
  const docids: number[] = []
  let bound = 0
  for (const [docid, document] of staged.documents()) {
    docids.push(docid)
    bound = Math.max(bound, docid + 1)
    rows.put(docid, parsed(document))
    if (pacer.due()) await pacer.pause()
  }
  return {
    root: '',
    settings: staged.settings,
    alive: DocSet.of(bound, docids),
    columns: rebuiltColumns(rows, bound),
    vectorStates: (embedder) => staged.vectors.states(embedder, docids),
    document: (docid) => parsed(staged.document(docid)!),
    elementReads: { documents: 0 },
  }
}
