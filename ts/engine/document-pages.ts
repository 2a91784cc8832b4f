/** Reads the documents of an index as NDJSON, in pages of bounded size. */
import { encodeRequest } from './encoding.js'
import { FIRST_PAGE_DOCUMENTS, PAGE_BYTES, PAGE_DOCUMENTS_MAX } from './limits.js'

/** Some documents as NDJSON. */
interface DocumentPage {
  readonly lines: Buffer
  readonly documents: number
  /** Number of documents in all pages. */
  readonly total: number
}

/**
 * Yields the documents of an index with their vectors, in the order in which the engine lists them.
 * @param list answers a `DocumentsRequest`, such as `Engine.documents`
 * @param filter of the documents request; null: all documents
 */
export async function* documentPages(
  list: (request: Uint8Array) => Promise<Uint8Array>,
  indexUid: string,
  filter: unknown = null,
): AsyncGenerator<DocumentPage> {
  let limit = FIRST_PAGE_DOCUMENTS
  for (let offset = 0; ; ) {
    const listing = Buffer.from(await list(pageRequest(indexUid, filter, { offset, limit })))
    const page = pageOf(listing)
    if (page.documents > 0) yield page
    offset += page.documents
    if (page.documents === 0 || offset >= page.total) return
    const fitting = Math.floor((page.documents * PAGE_BYTES) / Math.max(1, page.lines.length))
    limit = Math.min(Math.max(1, fitting), 4 * limit, PAGE_DOCUMENTS_MAX)
  }
}

/** The `DocumentsRequest` for a page, or with its filter for `Engine.pin`. */
export function pageRequest(
  indexUid: string,
  filter: unknown,
  { offset, limit } = { offset: 0, limit: 0 },
): Uint8Array {
  return encodeRequest({
    indexUid,
    offset,
    limit,
    fields: null,
    retrieveVectors: true,
    ids: null,
    filter,
    sort: null,
    features: { containsFilter: true, legacySearch: false, multimodal: true, foreignKeys: true },
  })
}

const START = '{"results":['
/** End of a document without vectors in the engine's list. Omitted in the output. */
const NO_VECTORS = Buffer.from(',"_vectors":{}}')
const LINE_END = Buffer.from('\n')
const OBJECT_END = Buffer.from('}\n')

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE, OPEN_LIST, CLOSE_LIST, LF, CR, SPACE] =
  Buffer.from('"\\,{}[]\n\r ')

/**
 * Splits a list of documents (`{"results":[…],"offset":…,"limit":…,"total":…}`) into lines without parsing values.
 * Parsing would take ten times as long and would block the main thread.
 */
export function pageOf(listing: Buffer): DocumentPage {
  if (listing.subarray(0, START.length).toString('latin1') !== START) throw notListed()
  const parts: Buffer[] = []
  let documents = 0
  let depth = 0
  let start = START.length
  for (let at = start; at < listing.length; at++) {
    const byte = listing[at]
    if (byte === QUOTE) at = endOfString(listing, at)
    else if (byte === OPEN || byte === OPEN_LIST) depth++
    else if (byte === CLOSE || (byte === CLOSE_LIST && depth > 0)) depth--
    // A line break between two values of a document would end its line, so it becomes a space.
    else if (byte === LF || byte === CR) listing[at] = SPACE as number
    if (depth > 0 || (byte !== CLOSE && byte !== CLOSE_LIST)) continue
    if (byte === CLOSE_LIST) return { lines: Buffer.concat(parts), documents, total: totalOf(listing, at) }
    parts.push(...line(listing.subarray(start, at + 1)))
    documents++
    if (listing[at + 1] === COMMA) at++
    start = at + 1
  }
  throw notListed()
}

function line(document: Buffer): readonly Buffer[] {
  const end = document.length - NO_VECTORS.length
  const isWithoutVectors = end > 0 && document.subarray(end).equals(NO_VECTORS)
  return isWithoutVectors ? [document.subarray(0, end), OBJECT_END] : [document, LINE_END]
}

/** Index of the quote that ends the string starting at `at`. */
function endOfString(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf('"', at + 1); end !== -1; end = bytes.indexOf('"', end + 1)) {
    let backslashes = 0
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  throw notListed()
}

function totalOf(listing: Buffer, from: number): number {
  const digits = /"total":(\d+)\}$/.exec(listing.subarray(from).toString())?.[1]
  if (digits === undefined) throw notListed()
  return Number(digits)
}

const notListed = (): Error => new Error('the engine did not return a list of documents')
