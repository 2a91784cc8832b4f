/** Asks other cells for their part of a multi-search, with the key of the client. */
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { type JsonNode, type PositionedQuery, toText } from '../../operations/index.js'
import { readAnswer } from '../../outbound/index.js'
import { type Cells, clientHeaders, errorOf, unreadable } from '../cells/index.js'
import { VALUE_BYTES } from '../limits.js'
import type { MemoryReservation } from '../memory-budget.js'
import { PROXY_HEADER, RIGHTS_HEADER, shareOf } from '../remotes/index.js'

/** The part of a search that a cell answers. */
export interface CellSearch {
  readonly cells: Cells
  readonly cell: string
  readonly queries: readonly PositionedQuery[]
  /** Headers of the client; see `searchHeaders`. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Number of instances that share the memory of answers. */
  readonly shares: number
  readonly memory: MemoryReservation
  readonly signal: AbortSignal
}

/** Returns the headers of a request that its parts in other cells need. */
export function searchHeaders(request: FastifyRequest): Record<string, string> {
  const { [RIGHTS_HEADER]: rights, 'meili-include-metadata': metadata } = request.headers
  return {
    ...clientHeaders(request),
    ...(rights !== undefined && { [RIGHTS_HEADER]: String(rights) }),
    ...(metadata !== undefined && { 'meili-include-metadata': String(metadata) }),
  }
}

/** Returns the answer of a cell to a federated search. @throws ApiError the error of the cell, or `bucket_unavailable` */
export const askCell = (search: CellSearch, body: object): Promise<JsonNode> =>
  ask({ ...search, headers: { ...search.headers, [PROXY_HEADER]: 'true' } }, body)

/** Returns the answers of a cell to separate queries, as JSON texts in their order. @throws ApiError, see `askCell` */
export async function askCellSeparately(search: CellSearch): Promise<readonly string[]> {
  const queries = search.queries.map(({ query }) =>
    Object.fromEntries(Object.entries(query).filter(([, value]) => value !== null)),
  )
  const results = resultsIn(await ask(search, { queries }))
  if (results?.length !== queries.length) throw unreadable(search.cell)
  return results
}

/** Returns the members of `results` as JSON texts; null: there are none. */
export function resultsIn(node: JsonNode): readonly string[] | null {
  const found = node.kind === 'object' ? node.entries.find(([name]) => name === 'results')?.[1] : undefined
  return found?.kind === 'array' ? found.items.map(toText) : null
}

async function ask(search: CellSearch, body: object): Promise<JsonNode> {
  const { cells, cell, headers, timeoutMs, shares, memory, signal } = search
  const { answerBytesMax, answerJson } = shareOf(shares)
  const { status, body: bytes } = await cells.call(cell, {
    ...{ method: 'POST', path: '/multi-search', timeoutMs, answerBytesMax, signal },
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    holdMemory: (count) => memory.take(count),
  })
  const node = await readAnswer(bytes, answerJson, (read) => memory.take(read * VALUE_BYTES)).catch(
    (error: unknown) => {
      throw error instanceof ApiError && error.code === 'too_many_requests' ? error : unreadable(cell)
    },
  )
  if (status < 200 || status > 299) throw refusal(node, status, search)
  return node
}

/** Returns the error of a cell, with positions in the complete request. */
const refusal = (node: JsonNode, status: number, { queries, cell }: CellSearch): ApiError =>
  errorOf(cell, node, status, (message) =>
    message.replace(
      /^inside `\.queries\[(\d{1,6})\]/,
      (_, at: string) => `inside \`.queries[${queries[Number(at)]?.position ?? at}]`,
    ),
  )

/** Returns the position of the query that an error is about; -1: it is about none. */
export const positionOf = ({ message }: ApiError): number =>
  Number(/^inside `\.queries\[(\d{1,6})\]/.exec(message)?.[1] ?? -1)
