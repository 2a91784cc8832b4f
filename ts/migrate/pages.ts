import { OutboundError, readAnswer } from '../outbound/index.js'
import { type JsonNode, toText } from '../parse/index.js'
import { type Peer, PeerError } from '../peer/index.js'
import {
  PAGE_BYTES_AIM,
  PAGE_BYTES_MAX,
  PAGE_DOCUMENTS_FIRST,
  PAGE_DOCUMENTS_MAX,
  PAGE_GROWTH_MAX,
  PAGE_MS_MAX,
  pageJsonLimits,
} from './limits.js'

/** Consecutive documents of an index. */
export interface Page {
  /** The position of the first. */
  readonly offset: number
  /** Each document as one line of JSON, with its numbers as they were written. */
  readonly lines: readonly string[]
  /** Documents of the index. */
  readonly total: number
}

/** Reads the documents of an index in order, in pages of about the same number of bytes. */
export class PageReader {
  readonly #from: Peer
  readonly #path: string
  #documents = PAGE_DOCUMENTS_FIRST

  constructor(from: Peer, uid: string) {
    this.#from = from
    this.#path = `/indexes/${encodeURIComponent(uid)}/documents/fetch`
  }

  async read(offset: number): Promise<Page> {
    for (;;) {
      const limit = this.#documents
      try {
        const body = { offset, limit, retrieveVectors: true }
        const bytes = await this.#from.bytes('POST', this.#path, {
          body,
          isRepeatable: true,
          timeoutMs: PAGE_MS_MAX,
          answerBytesMax: PAGE_BYTES_MAX,
        })
        const answer = await readAnswer(bytes, pageJsonLimits)
        const lines = itemsOf(answer).map(toText)
        if (lines.length > 0) this.#documents = nextPageDocuments(limit, lines.length, bytes.length)
        return { offset, lines, total: totalOf(answer) }
      } catch (error) {
        if (!isTooLarge(error) || limit === 1) throw error
        this.#documents = Math.floor(limit / 2)
      }
    }
  }
}

/** Documents to ask for after a page of `documents` documents that took `bytes`. */
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
