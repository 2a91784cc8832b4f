import { OutboundError, readAnswer } from '../../outbound/index.js'
import { type JsonNode, toText } from '../../parse/index.js'
import {
  PAGE_BYTES_AIM,
  PAGE_BYTES_MAX,
  PAGE_DOCUMENTS_FIRST,
  PAGE_DOCUMENTS_MAX,
  PAGE_GROWTH_MAX,
  PAGE_MS_MAX,
  pageJsonLimits,
} from './limits.js'
import type { Peer } from './peer.js'
import { PeerError } from './peer-error.js'

/** Consecutive documents of an index. */
export interface Page {
  /** Position of the first document. */
  readonly offset: number
  /** Each document as a line of JSON, with numbers exactly as they were added. */
  readonly lines: readonly string[]
  /** Number of documents of the index. */
  readonly total: number
}

/** Reads the documents of an index in order, in pages of about the same number of bytes. */
export class PageReader {
  readonly #from: Peer
  readonly #uid: string
  readonly #wanted: object
  #documents = PAGE_DOCUMENTS_FIRST

  /** @param wanted members of the body of `POST …/documents/fetch`, such as `filter`, without `offset` and `limit` */
  constructor(from: Peer, uid: string, wanted: object) {
    this.#from = from
    this.#uid = uid
    this.#wanted = wanted
  }

  async read(offset: number): Promise<Page> {
    for (;;) {
      const limit = this.#documents
      try {
        const { page, bytes } = await fetchPage(this.#from, this.#uid, { ...this.#wanted, offset, limit })
        if (page.lines.length > 0) this.#documents = nextPageDocuments(limit, page.lines.length, bytes)
        return page
      } catch (error) {
        if (!isTooLarge(error) || limit === 1) throw error
        this.#documents = Math.floor(limit / 2)
      }
    }
  }
}

/** Fetches documents with a body of `POST …/documents/fetch`. */
export async function fetchDocuments(from: Peer, uid: string, body: object): Promise<Page> {
  return (await fetchPage(from, uid, { offset: 0, ...body })).page
}

async function fetchPage(
  from: Peer,
  uid: string,
  body: { readonly offset: number; readonly limit?: number },
): Promise<{ readonly page: Page; readonly bytes: number }> {
  const bytes = await from.bytes('POST', `/indexes/${encodeURIComponent(uid)}/documents/fetch`, {
    body,
    isRepeatable: true,
    timeoutMs: PAGE_MS_MAX,
    answerBytesMax: PAGE_BYTES_MAX,
  })
  const answer = await readAnswer(bytes, pageJsonLimits)
  const lines = itemsOf(answer).map(toText)
  return { page: { offset: body.offset, lines, total: totalOf(answer) }, bytes: bytes.length }
}

/** Returns the size of the next page, given a page of `documents` documents with `bytes` bytes. */
export function nextPageDocuments(asked: number, documents: number, bytes: number): number {
  const fitting = Math.floor((documents * PAGE_BYTES_AIM) / bytes)
  return Math.max(1, Math.min(fitting, asked * PAGE_GROWTH_MAX, PAGE_DOCUMENTS_MAX))
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof PeerError && error.cause instanceof OutboundError && error.cause.fault === 'too_large'

const entryOf = (node: JsonNode, key: string): JsonNode | undefined =>
  node.kind === 'object' ? node.entries.find(([name]) => name === key)?.[1] : undefined

function itemsOf(answer: JsonNode): readonly JsonNode[] {
  const results = entryOf(answer, 'results')
  if (results?.kind !== 'array')
    throw new PeerError('the source lists no documents: is it a search instance?')
  return results.items
}

function totalOf(answer: JsonNode): number {
  const total = entryOf(answer, 'total')
  return total?.kind === 'number' ? Number(total.text) : 0
}
