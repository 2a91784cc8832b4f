/** Merges the lists of all cells. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, isErrorCode } from '../../errors/index.js'
import { type JsonNode, readJson, toText, toValue } from '../../operations/index.js'
import { readAnswer } from '../../outbound/index.js'
import { VALUE_BYTES } from '../limits.js'
import type { MemoryBudget } from '../memory-budget.js'
import { REMOTE_ANSWER } from '../remotes/index.js'
import { CELL_HEADER, type Cells, clientHeaders } from './cells.js'
import { PART_BYTES_MAX, PART_MS_MAX } from './limits.js'
import { passToCell } from './route.js'

/** Returns the error in the answer of a cell. @param placed changes its message */
export function errorOf(
  cell: string,
  node: JsonNode,
  status: number,
  placed: (message: string) => string = (message) => message,
): ApiError {
  const { code, message } = (toValue(node) ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' && typeof message === 'string' && isErrorCode(code)
    ? new ApiError(code, placed(message), status)
    : unreadable(cell)
}

export const unreadable = (cell: string): ApiError =>
  new ApiError('bucket_unavailable', `the answer of the cell \`${cell}\` cannot be read; retry`)

interface GatheringServices {
  readonly cells?: Cells | null
  readonly remoteAnswers: MemoryBudget
}

/**
 * Returns what the other cells answer to a request, with the key of its client; empty if another cell sent the request.
 * @param path with its query string
 * @throws ApiError that of a cell, `bucket_unavailable` if one does not answer, or `too_many_requests` if answers to other
 *   requests leave too little memory
 */
export async function gathered(
  request: FastifyRequest,
  { cells = null, remoteAnswers }: GatheringServices,
  path: string,
): Promise<readonly JsonNode[]> {
  if (cells === null || request.headers[CELL_HEADER] !== undefined) return []
  const memory = remoteAnswers.reserve()
  const answerOf = async (cell: string): Promise<JsonNode> => {
    const { status, body } = await cells.call(cell, {
      ...{ method: 'GET', path, headers: clientHeaders(request) },
      ...{ timeoutMs: PART_MS_MAX, answerBytesMax: PART_BYTES_MAX },
      holdMemory: (bytes) => memory.take(bytes),
    })
    const node = await readAnswer(body, REMOTE_ANSWER, (read) => memory.take(read * VALUE_BYTES)).catch(
      (error: unknown) => {
        throw error instanceof ApiError && error.code === 'too_many_requests' ? error : unreadable(cell)
      },
    )
    if (status !== 200) throw errorOf(cell, node, status)
    return node
  }
  try {
    return await Promise.all(cells.others.map(answerOf))
  } finally {
    memory.release()
  }
}

const member = (node: JsonNode | undefined, name: string): JsonNode | undefined =>
  node?.kind === 'object' ? node.entries.find(([key]) => key === name)?.[1] : undefined

const numberIn = (node: JsonNode, name: string): number | null => {
  const found = member(node, name)
  return found?.kind === 'number' ? Number(found.text) : null
}

const resultsOf = (page: JsonNode): readonly JsonNode[] => {
  const found = member(page, 'results')
  return found?.kind === 'array' ? found.items : []
}

const totalOf = (pages: readonly JsonNode[]): number =>
  pages.reduce((sum, page) => sum + (numberIn(page, 'total') ?? 0), 0)

/**
 * Merges pages of tasks or batches by uid. Each page names the uid after its last: results behind the first of these are
 * left to the next page.
 * @param own the page of this cell, as JSON
 */
export function mergedByUid(
  own: string,
  others: readonly JsonNode[],
  { limit, reverse }: { readonly limit: number; readonly reverse: boolean },
): string {
  const pages = [readJson(Buffer.from(own), REMOTE_ANSWER), ...others]
  const isBefore = (a: number, b: number): boolean => (reverse ? a < b : a > b)
  const ends = pages.flatMap((page) => numberIn(page, 'next') ?? [])
  const end = ends.length === 0 ? null : ends.reduce((a, b) => (isBefore(a, b) ? a : b))
  const found = pages
    .flatMap(resultsOf)
    .map((result) => ({ uid: numberIn(result, 'uid') ?? 0, text: toText(result) }))
    .filter(({ uid }) => end === null || isBefore(uid, end))
    .sort((a, b) => (isBefore(a.uid, b.uid) ? -1 : 1))
  const shown = found.slice(0, limit)
  const next = found[limit]?.uid ?? end
  const rest = { total: totalOf(pages), limit, from: shown[0]?.uid ?? null, next }
  return `{"results":[${shown.map(({ text }) => text).join(',')}],${JSON.stringify(rest).slice(1)}`
}

/** Merges the first results of all cells by the uid of their index. @param own those of this cell */
export function mergedIndexes(
  own: { readonly results: readonly object[]; readonly total: number },
  others: readonly JsonNode[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
): object {
  const results = [...own.results, ...others.flatMap(resultsOf).map(toValue)] as readonly { uid: string }[]
  const sorted = results.toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
  return { results: sorted.slice(offset, offset + limit), offset, limit, total: own.total + totalOf(others) }
}

/** Statistics of an instance, with sizes in bytes. */
export interface CellStats {
  readonly databaseSize: number
  readonly usedDatabaseSize: number
  readonly lastUpdate: string | null
  readonly indexes: Readonly<Record<string, unknown>>
  readonly damagedIndexes?: Readonly<Record<string, unknown>>
}

/** Merges the statistics of all cells. */
export function mergedStats(own: CellStats, others: readonly JsonNode[]): CellStats {
  const all = [own, ...others.map((node) => toValue(node) as CellStats)]
  const sum = (name: 'databaseSize' | 'usedDatabaseSize'): number =>
    all.reduce((total, stats) => total + Number(stats[name]), 0)
  const merged = (parts: readonly (Readonly<Record<string, unknown>> | undefined)[]) =>
    Object.fromEntries(
      parts.flatMap((part) => Object.entries(part ?? {})).sort(([a], [b]) => (a < b ? -1 : 1)),
    )
  const damagedIndexes = merged(all.map((stats) => stats.damagedIndexes))
  const dates = all.flatMap(({ lastUpdate }) => lastUpdate ?? [])
  return {
    databaseSize: sum('databaseSize'),
    usedDatabaseSize: sum('usedDatabaseSize'),
    lastUpdate: dates.reduce<string | null>(
      (last, date) => (last === null || Date.parse(date) > Date.parse(last) ? date : last),
      null,
    ),
    indexes: merged(all.map(({ indexes }) => indexes)),
    ...(Object.keys(damagedIndexes).length > 0 && { damagedIndexes }),
  }
}

/** The filters of tasks that name their cell. */
interface CellFilters {
  readonly uids?: readonly number[] | null | undefined
  readonly batchUids?: readonly number[] | null | undefined
  readonly canceledBy?: readonly number[] | null | undefined
  readonly indexUids?: readonly string[] | null | undefined
}

/**
 * Passes a change of the tasks that match a filter on to the one cell that can have them.
 * @returns true: the client is answered; false: this server handles the request
 * @throws ApiError `missing_task_filters` if several cells can have matching tasks
 */
export async function passFiltered(
  request: FastifyRequest,
  reply: FastifyReply,
  cells: Cells | null,
  { uids, batchUids, canceledBy, indexUids }: CellFilters,
): Promise<boolean> {
  if (cells === null || request.headers[CELL_HEADER] !== undefined) return false
  const owners = (): readonly string[] => {
    const named = [
      ...[uids, batchUids, canceledBy].map((given) => given?.map((uid) => cells.ofUid(uid))),
      indexUids?.map((uid) => cells.ofIndex(uid)),
    ]
    return [cells.name, ...cells.others].filter((cell) =>
      named.every((names) => names?.includes(cell) ?? true),
    )
  }
  const [cell, ...more] = owners()
  if (more.length > 0)
    throw new ApiError(
      'missing_task_filters',
      `these filters can match tasks of the cells \`${owners().join('`, `')}\`, but a task changes those of one: add \`uids\`, \`batchUids\` or \`indexUids\` of one cell`,
    )
  if (cell === undefined || cell === cells.name) return false
  return passToCell(request, reply, cells, { cell, owner: () => owners()[0] ?? cells.name })
}
