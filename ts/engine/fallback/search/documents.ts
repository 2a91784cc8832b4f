/** Lists and fetches documents, regardless of displayed attributes. Source: documents §5. */
import { EngineError } from '../../engine-error.js'
import type { DocumentRequest, DocumentsRequest } from '../../requests.js'
import { columnOf } from '../facets/coordinates.js'
import type { IndexData } from '../index-data/index-data.js'
import { isValidId } from '../indexing/primary-key.js'
import type { OpenIndex } from '../open-index.js'
import { bucketSort, geoRule, sortRule } from '../ranking/index.js'
import { DocSet } from '../store/docid-set.js'
import { type JsonObject, parseJson, writeJson } from '../store/json.js'
import { shownVectors } from '../vector/index.js'
import { AnswerBytes } from './answer-bytes.js'
import { Bounds, checkStop } from './bounds.js'
import { type FilterContext, filteredDocuments } from './candidates.js'
import { selectPaths } from './projection.js'
import { parseSort } from './sort-request.js'
import { isShownAsStored } from './stored-text.js'

/** A listing that stops when its client disconnects. */
type StoppableListing = DocumentsRequest & FilterContext

/** `{"results":[…],"offset","limit","total"}`, as UTF-8. */
export function listDocuments(index: OpenIndex, request: StoppableListing): Uint8Array {
  const { data } = index
  const sort = parseSort(request.sort ?? [], data.settings, 'invalid_document_sort', '')
  const documents = matchingDocuments(index, request)
  const total = documents.count()
  let page = documents.toArray()
  if (sort.length > 0) {
    const { ranked } = bucketSort({
      docids: page,
      graph: null,
      rules: sort.map((criterion) =>
        criterion.kind === 'geo'
          ? geoRule(data.columns.points, criterion)
          : sortRule(columnOf(data.columns, criterion.field), criterion),
      ),
      wanted: request.offset + request.limit,
      distinct: null,
      threshold: null,
      expired: () => request.stop?.aborted === true,
    })
    page = Uint32Array.from(ranked, ({ docid }) => docid)
  }
  return listingOf(data, page.slice(request.offset, request.offset + request.limit), request, total)
}

/** The part of an index needed for a listing. */
export type ListedData = Pick<IndexData, 'documents' | 'settings' | 'vectors'>

/** A page of documents in the format of `listDocuments`. @param total number of documents in all pages */
export function listingOf(
  data: ListedData,
  page: Uint32Array,
  request: Omit<StoppableListing, keyof FilterContext> & Pick<FilterContext, 'stop'>,
  total: number,
): Uint8Array {
  const bounds = new Bounds(request)
  const out = new AnswerBytes()
  out.expect(Array.from(page, (docid) => data.documents[docid]!.source.length))
  out.write('{"results":[')
  for (const [at, docid] of page.entries()) {
    checkStop(request.stop)
    const before = out.length
    if (at > 0) out.write(',')
    const { source } = data.documents[docid]!
    if (isCompleteDocument(request) && isShownAsStored(source)) out.copy(source)
    else out.write(documentText(data, docid, request))
    bounds.add(out.length - before)
  }
  out.write(`],"offset":${request.offset},"limit":${request.limit},"total":${total}}`)
  return out.finish()
}

/** Returns bare JSON, null if the document does not exist. */
export function oneDocument({ data }: OpenIndex, request: DocumentRequest): string | null {
  const docid = data.docids.get(request.id)
  return docid === undefined ? null : documentText(data, docid, request)
}

/** Documents that match the filter of a request and are among its ids. */
export function matchingDocuments(index: OpenIndex, request: StoppableListing): DocSet {
  const { data } = index
  const documents = filteredDocuments(index, request.filter, request, 'invalid_document_filter')
  if (request.ids === null) return documents
  const wanted = new DocSet(documents.words.length * 32)
  for (const [at, id] of request.ids.entries()) {
    if (!isValidId(id))
      throw new EngineError('invalid_document_ids', `\`.ids[${at}]\`: \`${id}\` is no document id`)
    const docid = data.docids.get(id)
    if (docid !== undefined) wanted.add(docid)
  }
  return documents.intersect(wanted)
}

/** The requested parts of a document. */
type Projection = Pick<DocumentRequest, 'fields' | 'retrieveVectors'>

const isCompleteDocument = ({ fields, retrieveVectors }: Projection): boolean =>
  fields === null && !retrieveVectors

function documentText(data: ListedData, docid: number, { fields, retrieveVectors }: Projection): string {
  const { source } = data.documents[docid]!
  const document = parseJson(Buffer.from(source).toString()) as JsonObject
  const vectors = document.get('_vectors')
  document.delete('_vectors')
  const selected = fields === null ? document : selectPaths(document, fields)
  if (retrieveVectors) selected.set('_vectors', shownVectors(data, docid, vectors))
  return writeJson(selected)
}
